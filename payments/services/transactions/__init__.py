"""A transaction from its intent to its outcome, and operations on it."""
