"""Admin pages of payments."""

from payments.admin import (
    account_declarations,
    batches,
    businesses,
    fees,
    links,
    payout_returns,
    people,
    proposals,
    rail_blocks,
    rail_choices,
    reconciliations,
    suspense,
    top_ups,
    transactions,
    unapplied,
    watches,
)

__all__ = [
    "account_declarations",
    "batches",
    "businesses",
    "fees",
    "links",
    "payout_returns",
    "people",
    "proposals",
    "rail_blocks",
    "rail_choices",
    "reconciliations",
    "suspense",
    "top_ups",
    "transactions",
    "unapplied",
    "watches",
]
