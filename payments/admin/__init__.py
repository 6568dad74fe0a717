"""Payments as our own staff see them."""

from payments.admin import batches, fees, rail_choices, reconciliations, reversals, transactions

__all__ = ["batches", "fees", "rail_choices", "reconciliations", "reversals", "transactions"]
