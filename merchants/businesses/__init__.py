"""Businesses: how they are created, set up and closed."""
