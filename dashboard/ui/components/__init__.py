"""What `templates/components/` draws."""
