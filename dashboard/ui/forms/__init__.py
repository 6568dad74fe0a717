"""What forms of the dashboard share."""
