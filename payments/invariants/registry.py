"""All invariants that `check_ledger` checks: those of the ledger itself, and those that tie payments to it.

See `ledger.invariants` for the format.
"""

from ledger import invariants as ledger
from payments.invariants import (
    card_payments,
    currencies,
    events,
    late_charges,
    payment_links,
    payouts,
    settlement,
    staff_decisions,
    suspense,
    transactions,
    transfers,
)

INVARIANTS = (
    *ledger.INVARIANTS,
    *transactions.INVARIANTS,
    *card_payments.INVARIANTS,
    *late_charges.INVARIANTS,
    *payouts.INVARIANTS,
    *transfers.INVARIANTS,
    *suspense.INVARIANTS,
    *payment_links.INVARIANTS,
    *currencies.INVARIANTS,
    *settlement.INVARIANTS,
    *staff_decisions.INVARIANTS,
    *events.INVARIANTS,
)
