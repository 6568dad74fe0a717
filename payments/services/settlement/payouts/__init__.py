"""Payouts of the wallet to the business's settlement account."""
