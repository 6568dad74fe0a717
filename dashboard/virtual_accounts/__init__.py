"""Virtual accounts: list, details, creation, activation and deactivation, and unapplied transfers."""
