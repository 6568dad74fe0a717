"""Models of transactions and their operations."""
