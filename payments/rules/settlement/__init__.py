"""Rules of settlement."""
