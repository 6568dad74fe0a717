"""Invariants of all transactions: statuses, fees, cancellations and daily totals."""

from ledger.invariants import Invariant

# The release before stored no accounts, and may send orders while an upgrade runs.
_NO_ACCOUNT = """(
    (sent.connector = '' OR sent.account = '') AND NOT EXISTS (
        SELECT 1 FROM django_migrations migrated WHERE migrated.app = 'payments'
            AND migrated.name = '0014_accounts_of_connectors' AND {until} > sent.created_at)
    OR sent.account NOT IN ('', sent.connector)
        AND substr(sent.account, 1, length(sent.connector) + 1) <> sent.connector || ':')"""


def _without_account(until: str) -> str:
    wrong = _NO_ACCOUNT.format(until=until)
    return f"""
        SELECT 'transaction ' || sent.id FROM (SELECT * FROM payments_transaction payment) sent
        WHERE sent.method <> 'virtual_account' AND {wrong}
        UNION ALL
        SELECT 'refund ' || sent.id FROM (SELECT * FROM payments_cardoperation refund) sent
        WHERE sent.connector <> '' AND {wrong}
    """


INVARIANTS = (
    Invariant(
        name="rows_belong_to_businesses",
        rule="A transaction, a delivery and an entry that is not of the house belong to a business.",
        sql="""
            SELECT 'transaction ' || id FROM payments_transaction
            WHERE NOT EXISTS (SELECT 1 FROM merchants_business WHERE id = business_id)
            UNION ALL
            SELECT 'entry ' || id FROM ledger_entry
            WHERE business_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM merchants_business WHERE id = business_id)
            UNION ALL
            SELECT 'delivery ' || id FROM webhooks_delivery
            WHERE NOT EXISTS (SELECT 1 FROM merchants_business WHERE id = business_id)
        """,
    ),
    Invariant(
        name="transitions_have_transactions",
        rule="A transition belongs to a transaction.",
        sql="""
            SELECT 'transition ' || moved.id FROM payments_transition moved
            WHERE NOT EXISTS (SELECT 1 FROM payments_transaction payment WHERE payment.id = moved.transaction_id)
        """,
        keys={"payments_transition moved": "transaction_id", "payments_transaction payment": "id"},
    ),
    Invariant(
        name="orders_have_an_account_of_their_connector",
        rule="Everything that was sent to a rail names its connector and an account there, unless it is older than this rule.",
        sql=_without_account("migrated.applied + interval '1 day'"),
        on_sqlite=_without_account("datetime(migrated.applied, '+1 day')"),
        keys={"payments_transaction payment": "id", "payments_cardoperation refund": "id"},
    ),
    Invariant(
        name="cancelled_payments_captured_nothing",
        rule="A cancelled payment or payout has failed: of a payment, nothing was captured or booked, and its session has failed.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment
                LEFT JOIN virtual_accounts_session session ON session.id = payment.session_id
            WHERE payment.response_code = '20091' AND (
                payment.status <> 'failed' OR payment.request_type NOT IN ('payment', 'payout')
                OR payment.amount_captured <> 0
                OR session.status <> 'failed' OR session.amount_received IS NOT NULL
                OR payment.request_type = 'payment'
                    AND EXISTS (SELECT 1 FROM ledger_entry WHERE cause = payment.id))
        """,
    ),
    Invariant(
        name="fees_match_successful_transactions",
        rule="The fees earned of a business are the fees of its successful transactions and of its disputes.",
        sql="""
            SELECT 'account ' || account.id || ': ' || account.balance || ', charged ' || coalesce(charged, 0)
            FROM ledger_account account LEFT JOIN (
                SELECT business_id, currency, sum(fee) AS charged FROM (
                    SELECT business_id, currency, fee FROM payments_transaction WHERE status = 'success'
                    UNION ALL
                    SELECT dispute.business_id, dispute.currency, step.fee
                    FROM disputes_disputestep step JOIN disputes_dispute dispute ON dispute.id = step.dispute_id
                ) earned GROUP BY business_id, currency
            ) successes ON successes.business_id = account.business_id
                AND successes.currency = account.currency
            WHERE account.kind = 'fees' AND account.balance <> coalesce(charged, 0)
        """,
    ),
    Invariant(
        name="unsuccessful_transactions_have_no_fee",
        rule="A transaction that has not succeeded has captured nothing, and has no fee and no tax.",
        sql="""
            SELECT 'transaction ' || id FROM payments_transaction payment
            WHERE status <> 'success' AND (fee <> 0 OR fee_tax <> 0 OR stamp_duty <> 0 OR amount_captured <> 0 OR amount_refunded <> 0)
        """,
        keys={"payments_transaction payment": "id"},
    ),
    Invariant(
        name="final_statuses_have_one_transition",
        rule="A finished transaction has exactly one transition to its status; a pending one has none.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment LEFT JOIN (
                SELECT transaction_id, count(*) AS moves, max(after) AS status
                FROM payments_transition moved WHERE attribute = 'status' GROUP BY transaction_id
            ) log ON log.transaction_id = payment.id
            WHERE (payment.status = 'pending') <> (log.moves IS NULL)
                OR log.moves > 1 OR log.status <> payment.status
        """,
        keys={"payments_transaction payment": "id", "payments_transition moved": "transaction_id"},
    ),
    Invariant(
        name="daily_totals_match_transactions",
        rule="The totals of a past day count all transactions of that day.",
        sql="""
            SELECT 'business ' || business_id || ' on ' || day || ': ' || coalesce(counted.count, 0) || ' of '
                || coalesce(made.count, 0)
            FROM (
                SELECT business_id, day, jsonb_array_length(unfinished) + (
                    SELECT coalesce(sum(hour::bigint), 0) FROM jsonb_array_elements(tallies) tally,
                        jsonb_array_elements_text(tally -> 'counts') hour
                ) AS count
                FROM payments_hourlytotals
            ) counted FULL JOIN (
                SELECT business_id, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS count
                FROM payments_transaction GROUP BY 1, 2
            ) made USING (business_id, day) JOIN payments_countedday USING (day)
            WHERE counted.count IS DISTINCT FROM made.count
        """,
        on_sqlite="""
            SELECT 'business ' || business_id || ' on ' || day || ': ' || coalesce(counted.count, 0) || ' of '
                || coalesce(made.count, 0)
            FROM (
                SELECT business_id, day, json_array_length(unfinished) + (
                    SELECT coalesce(sum(hour.value), 0) FROM json_each(tallies) tally,
                        json_each(tally.value, '$.counts') hour
                ) AS count
                FROM payments_hourlytotals
            ) counted FULL JOIN (
                SELECT business_id, date(created_at) AS day, count(*) AS count
                FROM payments_transaction GROUP BY 1, 2
            ) made USING (business_id, day) JOIN payments_countedday USING (day)
            WHERE counted.count IS NOT made.count
        """,
    ),
)
