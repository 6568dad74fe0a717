"""The invariant of what statements must have: whatever the ledger says of banks and acquirers is matched or a break.

It follows the ledger's entries, and not what reconciliation remembers of them, so that nothing is clean because a row of
it is missing. What the ledger expects, and from when on, is decided in `payments.services.reconciliation`.
"""

from ledger.invariants import Invariant

# From entries to what a statement must have of each, and the account of ours that it must be on. `{within}` is whether a
# list of names has one. Of an account that moved several times, each address is compared with the one before and after.
_OF_ACQUIRERS = """(
            bank.kind <> 'bank' AND (bank.connector_account = {row}.account OR EXISTS (
                SELECT 1 FROM payments_accountdeclaration declared
                WHERE declared.connector = {row}.connector AND {row}.account IN (declared.former, declared.present)
                    AND bank.connector_account IN (declared.former, declared.present)))
            OR bank.kind = 'bank' AND NOT EXISTS (
                SELECT 1 FROM cash_bankaccount teller
                WHERE teller.kind <> 'bank' AND teller.currency = bank.currency AND {{told_there_{row}}}))"""
_TRANSFERS = """
    SELECT entry.id, 'transfer', transfer.id, transfer.received_at, bank.id, FALSE
    FROM open_entries entry {found}
        JOIN cash_bankaccount bank ON bank.currency = entry.currency
            AND transfer.provider_account = '' AND {{from_hosting_bank}}
    WHERE entry.kind = '{kind}' AND NOT EXISTS (
        SELECT 1 FROM virtual_accounts_unclaimedtransfer unclaimed
            JOIN cash_matcheditem matched ON matched.item = unclaimed.id AND matched.kind = 'unclaimed'
        WHERE unclaimed.bank_reference = transfer.bank_reference)
    """
_PARTS = (
    # Card payments, and their refunds
    """
    SELECT entry.id AS entry, 'payment' AS kind, payment.id AS item, payment.finished_at AS at, bank.id AS account,
        bank.kind = 'bank' AS in_sums
    FROM open_entries entry JOIN payments_transaction payment ON payment.id = entry.cause
        JOIN cash_bankaccount bank ON bank.currency = entry.currency AND {received_from_payment} AND """
    + _OF_ACQUIRERS.format(row="payment")
    + " WHERE entry.kind = 'card'",
    """
    SELECT entry.id, 'card_refund', refund.id, refund.finished_at, bank.id, bank.kind = 'bank'
    FROM open_entries entry JOIN payments_cardoperation refund ON refund.id = entry.cause AND refund.connector = ''
        JOIN payments_transaction payment ON payment.id = refund.transaction_id
        JOIN cash_bankaccount bank ON bank.currency = entry.currency AND {received_from_payment} AND """
    + _OF_ACQUIRERS.format(row="payment")
    + " WHERE entry.kind = 'refund'",
    # What banks sent: payouts and refunds by transfer; and what they returned
    """
    SELECT entry.id, 'payout', payment.id, payment.finished_at, bank.id, FALSE
    FROM open_entries entry JOIN payments_transaction payment ON payment.id = entry.cause
        JOIN cash_bankaccount bank ON bank.currency = entry.currency AND {paid_by_payment}
    WHERE entry.kind = 'payout_sent'
    """,
    """
    SELECT entry.id, 'refund', refund.id, refund.finished_at, bank.id, FALSE
    FROM open_entries entry JOIN payments_cardoperation refund ON refund.id = entry.cause
        JOIN cash_bankaccount bank ON bank.currency = entry.currency AND {paid_by_refund}
    WHERE entry.kind = 'refund'
    """,
    """
    SELECT entry.id, 'payout_reversed', returned.id, returned.at, bank.id, FALSE
    FROM open_entries entry JOIN payments_payoutreturn returned ON returned.id = entry.cause
        JOIN payments_transaction payment ON payment.id = returned.transaction_id
        JOIN cash_bankaccount bank ON bank.currency = entry.currency AND {paid_by_payment}
    WHERE entry.kind = 'payout_reversed'
    """,
    # What banks received: transfers, those of unknown owners, and top-ups
    _TRANSFERS.format(
        found="JOIN virtual_accounts_transfer transfer ON transfer.id = entry.cause", kind="unapplied_in"
    ),
    _TRANSFERS.format(
        found="JOIN payments_transaction payment ON payment.id = entry.cause"
        " JOIN virtual_accounts_transfer transfer ON transfer.session_id = payment.session_id",
        kind="virtual_account",
    ),
    """
    SELECT entry.id, 'unclaimed', unclaimed.id, unclaimed.received_at, bank.id, FALSE
    FROM open_entries entry JOIN virtual_accounts_unclaimedtransfer unclaimed ON unclaimed.id = entry.cause
        JOIN cash_bankaccount bank ON bank.currency = entry.currency
            AND unclaimed.provider_account = '' AND {from_hosting_bank}
    WHERE entry.kind = 'suspense_in' AND NOT EXISTS (
        SELECT 1 FROM virtual_accounts_transfer transfer WHERE transfer.bank_reference = unclaimed.bank_reference)
    """,
    """
    SELECT entry.id, 'top_up', entry.cause, entry.at, bank.id, FALSE
    FROM open_entries entry
        JOIN payments_journalleg leg ON leg.journal_id = entry.cause AND leg.kind = 'bank'
        JOIN cash_bankaccount bank ON bank.kind = 'bank' AND bank.name = leg.name AND bank.currency = entry.currency
    WHERE entry.kind = 'top_up'
    """,
    # Journals of staff
    """
    SELECT entry.id, 'journal', leg.id, entry.at, bank.id, FALSE
    FROM open_entries entry JOIN payments_journalleg leg ON leg.journal_id = entry.cause
        JOIN cash_bankaccount bank ON bank.kind = leg.kind AND bank.currency = entry.currency
            AND leg.name = CASE bank.kind WHEN 'bank' THEN bank.name ELSE bank.connector_account END
    WHERE entry.kind IN ('journal', 'journal_house')
    """,
    # Debits of disputes
    """
    SELECT entry.id, 'dispute', dispute.id, dispute.debited_at, bank.id, bank.kind = 'bank'
    FROM open_entries entry JOIN disputes_disputestep step ON step.id = entry.cause
        JOIN disputes_dispute dispute ON dispute.id = step.dispute_id
        JOIN cash_bankaccount bank ON bank.currency = entry.currency AND {received_from_dispute} AND """
    + _OF_ACQUIRERS.format(row="dispute")
    + " WHERE entry.kind IN ('chargeback_in', 'chargeback_paid') AND dispute.created_at >= bank.created_at",
)
# Whether an item is matched is a subquery with an aggregate, which is looked up for each row. PostgreSQL would make a join of
# NOT EXISTS, and read all matches again for each range of entries.
_SQL = (
    """
    WITH open_entries AS (
        SELECT entry.id, entry.kind, entry.cause, entry.currency, entry.at
        FROM ledger_entry entry
        WHERE entry.kind IN (
                'card', 'refund', 'payout_sent', 'payout_reversed', 'virtual_account', 'unapplied_in', 'suspense_in',
                'top_up', 'journal', 'journal_house', 'chargeback_in', 'chargeback_paid')
            AND entry.at < {two_weeks_ago}
            AND EXISTS (SELECT 1 FROM cash_bankaccount bank WHERE bank.currency = entry.currency)
            AND (SELECT min(matched.kind) FROM cash_matcheditem matched WHERE matched.item = entry.cause) IS NULL
    )
    SELECT 'entry ' || moved.entry || ': ' || moved.kind || ' of ' || bank.name
    FROM ("""
    + " UNION ALL ".join(_PARTS)
    + """) moved JOIN cash_bankaccount bank ON bank.id = moved.account
    WHERE moved.at >= coalesce(
            (SELECT min(first_day) FROM cash_statement statement WHERE statement.account_id = bank.id), bank.created_at)
        AND (
            SELECT min(matched.kind) FROM cash_matcheditem matched
            WHERE matched.item = moved.item AND matched.kind = moved.kind) IS NULL
        AND NOT EXISTS (
            SELECT 1 FROM cash_break found
            WHERE found.item = moved.item AND found.item_kind = moved.kind AND found.ended_at IS NULL)
        AND NOT (moved.in_sums AND (
            EXISTS (
                SELECT 1 FROM cash_break found
                WHERE found.account_id = bank.id AND found.ended_at IS NULL AND found.item_kind = 'card_day'
                    AND {days_between} <= 10)
            OR NOT EXISTS (
                SELECT 1 FROM cash_statement statement
                WHERE statement.account_id = bank.id AND statement.last_day >= {a_week_later})))
"""
)
_PAYING, _RECEIVING, _TELLING = "bank.pays_out", "bank.receives", "teller.receives"
_TIED = {
    "received_from_payment": (_RECEIVING, "payment.connector"),
    "received_from_dispute": (_RECEIVING, "dispute.connector"),
    "told_there_payment": (_TELLING, "payment.connector"),
    "told_there_dispute": (_TELLING, "dispute.connector"),
    "from_hosting_bank": (_RECEIVING, "'hosting_bank'"),
    "paid_by_payment": (_PAYING, "payment.connector"),
    "paid_by_refund": (_PAYING, "refund.connector"),
}


def _sql(has: str, **dates: str) -> str:
    """Return the statement of a database. `has` is its SQL for a list that has a name."""
    return _SQL.format(
        **{tie: has.format(names=names, name=name) for tie, (names, name) in _TIED.items()}, **dates
    )


INVARIANTS = (
    Invariant(
        name="postings_are_matched_expected_or_breaks",
        rule="What the ledger said of a bank or an acquirer two weeks ago is matched, or an open break has it, where an account "
        "of ours expects it.",
        sql=_sql(
            "jsonb_exists({names}, {name})",
            two_weeks_ago="now() - interval '14 days'",
            a_week_later="CAST(moved.at + interval '7 days' AS date)",
            days_between="abs(found.since - CAST(moved.at AS date))",
        ),
        on_sqlite=_sql(
            "EXISTS (SELECT 1 FROM json_each({names}) WHERE value = {name})",
            two_weeks_ago="datetime('now', '-14 days')",
            a_week_later="date(moved.at, '+7 days')",
            days_between="abs(julianday(found.since) - julianday(date(moved.at)))",
        ),
        keys={"ledger_entry entry": "id"},
    ),
)
