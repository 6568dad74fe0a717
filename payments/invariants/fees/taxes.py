"""Invariants of the taxes on fees."""

from ledger.invariants import Invariant
from payments.invariants.entry_sql import without_cause

INVARIANTS = (
    Invariant(
        name="taxes_payable_match_transactions",
        rule="The taxes payable are the taxes of successful transactions less what was remitted, booked by journals.",
        sql="""
            SELECT 'account ' || account.id || ': ' || account.balance || ', charged ' || coalesce(taxed.amount, 0)
                || ', by journals ' || coalesce(other.amount, 0)
            FROM ledger_account account
                LEFT JOIN (
                    SELECT business_id, currency, sum(fee_tax + stamp_duty) AS amount FROM payments_transaction
                    WHERE status = 'success' GROUP BY business_id, currency
                ) taxed ON taxed.business_id = account.business_id AND taxed.currency = account.currency
                LEFT JOIN (
                    SELECT posting.account_id, sum(posting.amount) AS amount
                    FROM ledger_account payable
                        JOIN ledger_posting posting ON posting.account_id = payable.id
                        JOIN ledger_entry entry ON entry.id = posting.entry_id
                    WHERE payable.kind = 'taxes_payable' AND entry.kind NOT IN ('card', 'virtual_account', 'payout_sent')
                    GROUP BY posting.account_id
                ) other ON other.account_id = account.id
            WHERE account.kind = 'taxes_payable'
                AND account.balance <> coalesce(taxed.amount, 0) + coalesce(other.amount, 0)
        """,
    ),
    Invariant(
        name="tax_debits_have_payouts",
        rule="A debit of a wallet for the tax on a payout's fee belongs to a payout.",
        sql=without_cause(
            "tax", table="payments_transaction", alias="payment", condition="payment.request_type = 'payout'"
        ),
        keys={"payments_transaction payment": "id", "ledger_entry entry": "cause"},
    ),
)
