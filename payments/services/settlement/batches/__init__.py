"""Settlement batches: built, funded, and decided about."""
