"""The audit trail as members see it."""
