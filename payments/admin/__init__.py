"""Admin pages of payments."""

from payments.admin import journals, links, people, suspense, top_ups, unapplied
from payments.admin.businesses import businesses, fee_invoices, fees
from payments.admin.decisions import proposals
from payments.admin.payouts import beneficiaries, payout_returns
from payments.admin.rails import account_declarations, rail_blocks, rail_choices
from payments.admin.reconciliation import bank_accounts, breaks, reconciliations, statements
from payments.admin.settlement import batches, debts, holidays, reserves, settlement_accounts
from payments.admin.transactions import transactions, watches

__all__ = [
    "account_declarations",
    "bank_accounts",
    "batches",
    "beneficiaries",
    "breaks",
    "businesses",
    "debts",
    "fee_invoices",
    "fees",
    "holidays",
    "journals",
    "links",
    "payout_returns",
    "people",
    "proposals",
    "rail_blocks",
    "rail_choices",
    "reconciliations",
    "reserves",
    "settlement_accounts",
    "statements",
    "suspense",
    "top_ups",
    "transactions",
    "unapplied",
    "watches",
]
