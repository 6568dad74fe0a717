"""Bank accounts of ours, and their statements."""
