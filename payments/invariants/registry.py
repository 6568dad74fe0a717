"""All invariants that `check_ledger` checks: those of the ledger itself, and those that tie payments to it.

See `ledger.invariants` for the format.
"""

from ledger import invariants as ledger
from payments.invariants import (
    card_payments,
    cash,
    currencies,
    disputes,
    events,
    expected_lines,
    fee_invoices,
    journals,
    late_charges,
    payment_links,
    payout_batches,
    payout_controls,
    payouts,
    reserves,
    settlement,
    settlement_payouts,
    staff_decisions,
    suspense,
    taxes,
    transactions,
    transfers,
)

INVARIANTS = (
    *ledger.INVARIANTS,
    *transactions.INVARIANTS,
    *card_payments.INVARIANTS,
    *late_charges.INVARIANTS,
    *payouts.INVARIANTS,
    *payout_controls.INVARIANTS,
    *transfers.INVARIANTS,
    *suspense.INVARIANTS,
    *cash.INVARIANTS,
    *expected_lines.INVARIANTS,
    *journals.INVARIANTS,
    *payment_links.INVARIANTS,
    *currencies.INVARIANTS,
    *taxes.INVARIANTS,
    *fee_invoices.INVARIANTS,
    *settlement.INVARIANTS,
    *reserves.INVARIANTS,
    *settlement_payouts.INVARIANTS,
    *disputes.INVARIANTS,
    *staff_decisions.INVARIANTS,
    *events.INVARIANTS,
    *payout_batches.INVARIANTS,
)
