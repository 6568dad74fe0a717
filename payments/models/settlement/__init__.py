"""Models of settlement."""
