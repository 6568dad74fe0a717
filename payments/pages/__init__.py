"""Hosted pages for payers."""
