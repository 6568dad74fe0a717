"""Admin pages of businesses and of what they pay us."""
