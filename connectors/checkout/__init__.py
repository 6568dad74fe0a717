"""Checkout.com."""
