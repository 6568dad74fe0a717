"""The page of a refund."""
