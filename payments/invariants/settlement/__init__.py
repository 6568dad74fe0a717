"""Invariants of settlement."""
