"""Payments: list, export, detail page and actions."""
