"""Customers, their accounts, and the transfers that arrive there."""
