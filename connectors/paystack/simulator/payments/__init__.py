"""Transactions, how payers pay them, and what is given back."""
