"""Payment links: list, details, creation, change, activation and deactivation."""
