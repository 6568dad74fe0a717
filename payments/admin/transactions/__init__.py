"""Admin pages of transactions and their operations."""
