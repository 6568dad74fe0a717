"""All invariants that `check_ledger` checks: those of the ledger itself, and those that tie payments to it.

See `ledger.invariants` for the format.
"""

from ledger import invariants as ledger
from payments.invariants import events, staff_decisions, suspense, transfers
from payments.invariants.cash import cash, expected_lines, journals
from payments.invariants.fees import currencies, fee_invoices, taxes
from payments.invariants.payments import card_payments, disputes, late_charges, payment_links, transactions
from payments.invariants.payouts import payout_batches, payout_controls, payouts
from payments.invariants.settlement import reserves, settlement, settlement_payouts

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
