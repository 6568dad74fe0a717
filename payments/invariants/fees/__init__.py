"""Invariants of fees, their taxes and invoices."""
