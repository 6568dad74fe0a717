"""Fill a business with copies of its real transactions over the last 90 days, with deliveries and attempts."""

import psycopg

from benchmarks.copies import copy_of

DAYS = 90
ATTEMPTS = 3  # of each delivery: two that fail, and one that succeeds
HEARD = f"n = {ATTEMPTS} AND delivery.state = 'delivered'"
DEAD = "copied.reference LIKE '%07'"  # one delivery in a hundred
PAID, DECLINED, PAYOUT, WAITING = "bench-paid", "bench-declined", "bench-payout", "bench-waiting"

# One in ten is declined, one in twenty is a payout, and a few still wait for their payer.
KIND = f"""
    CASE WHEN n % 5000 = 4 THEN '{WAITING}' WHEN n % 20 = 1 THEN '{PAYOUT}' WHEN n % 10 = 0 THEN '{DECLINED}'
        ELSE '{PAID}' END
"""
# Version 7: sorts by time, as the service's own do.
ID = """
    (lpad(to_hex((extract(epoch FROM source.at) * 1000)::bigint), 12, '0')
        || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid
"""


def fill(connection: psycopg.Connection, *, transactions: int) -> None:
    """Copy the real transaction of each kind, with its delivery and attempt, up to the given number."""
    moments = (
        f"SELECT n, {KIND} AS kind, now() - interval '{DAYS} days' * (1 - n / {transactions}::float) AS at "
        f"FROM generate_series(1, {transactions}) n"
    )
    connection.execute(
        copy_of(
            connection,
            "payments_transaction",
            f"({moments}) source JOIN payments_transaction one ON one.reference = source.kind ORDER BY n",
            {
                "id": ID,
                "reference": "'fill-' || n",
                "customer_email": "'payer' || n % 100000 || '@example.com'",
                "system_trace_audit_number": "lpad((n % 1000000)::text, 6, '0')",
                "card_last4": "CASE one.card_last4 WHEN '' THEN '' ELSE lpad((n % 10000)::text, 4, '0') END",
                "amount": "one.amount + CASE one.amount_captured WHEN 0 THEN 0 ELSE n % 1000 END",
                "amount_captured": "one.amount_captured + CASE one.amount_captured WHEN 0 THEN 0 ELSE n % 1000 END",
                "created_at": "source.at",
                "finished_at": "CASE WHEN one.finished_at IS NULL THEN NULL ELSE source.at END",
            },
        )
    )
    connection.execute(
        copy_of(
            connection,
            "webhooks_delivery",
            "payments_transaction copied JOIN payments_transaction kind ON kind.reference = CASE "
            f"WHEN copied.request_type = 'payout' THEN '{PAYOUT}' WHEN copied.status = 'failed' THEN '{DECLINED}' "
            f"ELSE '{PAID}' END JOIN webhooks_delivery one ON one.subject = kind.id "
            "WHERE copied.status <> 'pending' AND copied.reference LIKE 'fill-%' ORDER BY copied.id",
            {
                "id": "gen_random_uuid()",
                "subject": "copied.id",
                "state": f"CASE WHEN {DEAD} THEN 'dead' ELSE one.state END",
                "created_at": "copied.finished_at",
                "attempts_made": f"{ATTEMPTS}",
                "delivered_at": f"CASE WHEN {DEAD} THEN NULL ELSE copied.finished_at END",
            },
        )
    )
    connection.execute(
        copy_of(
            connection,
            "webhooks_attempt",
            f"webhooks_delivery delivery, generate_series(1, {ATTEMPTS}) n, (SELECT * FROM webhooks_attempt LIMIT 1) one "
            "WHERE NOT EXISTS (SELECT 1 FROM webhooks_attempt WHERE delivery_id = delivery.id)",
            {
                "delivery_id": "delivery.id",
                "number": "n",
                "started_at": "delivery.created_at + interval '30 seconds' * (n - 1)",
                "status": f"CASE WHEN {HEARD} THEN 200 ELSE 500 END",
                "error": f"CASE WHEN {HEARD} THEN '' ELSE 'server_error' END",
                "explanation": f"CASE WHEN {HEARD} THEN '' ELSE 'The endpoint answered 500.' END",
            },
            but=frozenset({"id"}),
        )
    )
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")
