"""Invariants of payments, and of what is taken back of them."""
