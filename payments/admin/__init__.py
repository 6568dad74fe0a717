"""Payments as our own staff see them."""

from payments.admin import (
    batches,
    businesses,
    fees,
    rail_choices,
    reconciliations,
    reversals,
    transactions,
    unapplied,
)

__all__ = [
    "batches",
    "businesses",
    "fees",
    "rail_choices",
    "reconciliations",
    "reversals",
    "transactions",
    "unapplied",
]
