"""The audit trail, in sentences."""
