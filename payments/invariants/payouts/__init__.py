"""Invariants of payouts."""
