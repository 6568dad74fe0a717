"""Payouts: list, export, detail page and the form for a new one."""
