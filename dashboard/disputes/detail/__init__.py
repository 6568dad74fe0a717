"""The page of a dispute."""
