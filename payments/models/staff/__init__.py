"""Models of what staff do."""
