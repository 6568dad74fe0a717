"""Changes of what providers sent."""
