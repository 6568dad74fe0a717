"""Paystack."""
