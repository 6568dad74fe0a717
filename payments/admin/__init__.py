"""Admin pages of payments."""

from payments.admin import (
    batches,
    businesses,
    fees,
    links,
    payout_returns,
    proposals,
    rail_choices,
    reconciliations,
    top_ups,
    transactions,
    unapplied,
)

__all__ = [
    "batches",
    "businesses",
    "fees",
    "links",
    "payout_returns",
    "proposals",
    "rail_choices",
    "reconciliations",
    "top_ups",
    "transactions",
    "unapplied",
]
