"""Invariants between the suspense account of the house and what it holds: unclaimed transfers, unmatched payout returns,
and reports about disputes that contradict how they ended.
"""

from ledger.invariants import Invariant
from ledger.services import LARGEST_ENTRY
from payments.invariants.entry_sql import legs_of_journals, moved

# The rows that the ledger can hold in suspense.
_ROWS = f"""
    SELECT id, amount, currency, resolved_at IS NULL AS is_open
    FROM virtual_accounts_unclaimedtransfer WHERE why = 'unknown_account'
    UNION ALL
    SELECT id, amount, currency, applied = 'unmatched' AND resolved_at IS NULL
    FROM payments_payoutreturn WHERE amount <= {LARGEST_ENTRY}
    UNION ALL
    SELECT id, amount_in_suspense, currency, settled_at IS NULL
    FROM disputes_disputereport WHERE amount_in_suspense > 0
"""
# A decision of staff has an audit entry. A return that came before the end of its payout needs none.
_DECIDED = """
    SELECT 'entry ' || entry.id FROM ledger_entry entry
    WHERE entry.kind = 'suspense_out' AND NOT EXISTS (
        SELECT 1 FROM merchants_auditentry audit
        WHERE audit.action IN (
            'unclaimed_transfer.assigned', 'unclaimed_transfer.written_off',
            'payout_return.matched', 'payout_return.written_off',
            'dispute_report.credited', 'dispute_report.dismissed')
        AND {is_target}
    ) AND NOT EXISTS (
        SELECT 1 FROM payments_payoutreturn returned
        WHERE returned.id = entry.cause AND returned.applied = 'reversed' AND returned.resolved_at IS NULL)
"""

INVARIANTS = (
    Invariant(
        name="suspense_is_the_sum_of_open_rows",
        rule="The suspense account is the sum of the open unclaimed transfers, unmatched payout returns and contradicted disputes, "
        "with what journals put into it and took out.",
        sql=f"""
            SELECT 'suspense ' || coalesce(account.currency, held.currency) || ': ' || coalesce(account.balance, 0)
                || ', open ' || coalesce(held.amount, 0)
            FROM (SELECT currency, balance FROM ledger_account WHERE kind = 'suspense') account FULL JOIN (
                SELECT currency, sum(amount) AS amount FROM (
                    SELECT currency, amount FROM ({_ROWS}) money WHERE is_open
                    UNION ALL
                    {legs_of_journals("suspense")}
                ) money GROUP BY currency
            ) held ON held.currency = account.currency
            WHERE coalesce(account.balance, 0) <> coalesce(held.amount, 0)
        """,
    ),
    Invariant(
        name="money_in_suspense_is_booked",
        rule="An open unclaimed transfer, unmatched payout return or contradicted dispute has an entry of its amount; no other "
        "entry of this kind exists.",
        sql=f"""
            SELECT 'held by ' || coalesce(money.id, booked.cause)
            FROM ({_ROWS}) money FULL JOIN ({moved("suspense_in", "suspense")}) booked ON booked.cause = money.id
            WHERE money.id IS NULL OR booked.amount IS NULL AND money.is_open OR booked.amount <> money.amount
                OR booked.currency <> money.currency
        """,
    ),
    Invariant(
        name="money_leaves_suspense_with_its_decision",
        rule="What was booked to suspense has left it in full exactly if it is no longer open.",
        sql=f"""
            SELECT 'held by ' || coalesce(decided.cause, booked.cause)
            FROM (
                SELECT held.cause, held.amount FROM ({moved("suspense_in", "suspense")}) held
                    JOIN ({_ROWS}) money ON money.id = held.cause
                WHERE NOT money.is_open
            ) decided FULL JOIN ({moved("suspense_out", "suspense")}) booked ON booked.cause = decided.cause
            WHERE decided.cause IS NULL OR booked.amount IS NULL OR booked.amount <> -decided.amount
        """,
    ),
    Invariant(
        name="suspense_is_left_by_audited_decisions",
        rule="Money left suspense by an audited decision of staff, or as an early return of a payout that has ended.",
        sql=_DECIDED.format(is_target="audit.target = CAST(entry.cause AS text)"),
        on_sqlite=_DECIDED.format(is_target="replace(audit.target, '-', '') = entry.cause"),
    ),
    Invariant(
        name="assigned_transfers_were_unclaimed",
        rule="A transfer that staff assigned to an account was an unclaimed transfer of its amount.",
        sql="""
            SELECT 'transfer ' || transfer.id
            FROM virtual_accounts_transfer transfer LEFT JOIN virtual_accounts_unclaimedtransfer unclaimed
                ON unclaimed.bank_reference = transfer.bank_reference AND unclaimed.why = 'unknown_account'
            WHERE transfer.reason = 'assigned' AND (unclaimed.resolved_at IS NULL
                OR unclaimed.amount <> transfer.amount OR unclaimed.currency <> transfer.currency)
        """,
    ),
)
