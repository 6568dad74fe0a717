"""Invariants of opt-in events: they match refunds, payout returns, unapplied transfers and settlements."""

from ledger.invariants import Invariant

_OPT_IN = "('refund.success', 'refund.failed', 'payout.reversed', 'unapplied', 'released')"

# Every outcome with an opt-in event: its id, business and time, the category and the event.
_OUTCOMES = """
                SELECT id, business_id, finished_at AS at, 'refund' AS category, 'refund.' || status AS event
                FROM payments_cardoperation WHERE kind = 'refund' AND status <> 'pending'
                UNION ALL
                SELECT returned.id, payout.business_id, returned.at, 'reversal', 'payout.reversed'
                FROM payments_payoutreturn returned
                    JOIN payments_transaction payout ON payout.id = returned.transaction_id
                WHERE returned.applied = 'reversed'
                UNION ALL
                SELECT id, business_id, created_at, 'unapplied', 'unapplied'
                FROM virtual_accounts_unappliedmoney
                UNION ALL
                SELECT batch.id, batch.business_id, transition.at, 'settlement', 'released'
                FROM payments_settlementbatch batch
                    JOIN payments_batchtransition transition ON transition.batch_id = batch.id
                WHERE transition.after = 'released'"""


def _unpublished(is_later: str) -> str:
    """Return the query for outcomes without a delivery that came later than the webhook configuration."""
    return f"""
            SELECT outcome.category || ' ' || outcome.id
            FROM webhooks_endpoint endpoint JOIN ({_OUTCOMES}
            ) outcome ON outcome.business_id = endpoint.business_id
            WHERE CAST(endpoint.subscribed_events AS text) LIKE '%"' || outcome.category || '"%'
                AND {is_later}
                AND NOT EXISTS (SELECT 1 FROM webhooks_delivery WHERE subject = outcome.id)
        """


INVARIANTS = (
    Invariant(
        name="opt_in_events_match_outcomes",
        rule="A delivery of an opt-in event has the outcome that it announces, of its business.",
        sql=f"""
            SELECT 'delivery ' || delivery.id
            FROM webhooks_delivery delivery LEFT JOIN ({_OUTCOMES}
            ) outcome ON outcome.id = delivery.subject AND outcome.business_id = delivery.business_id
            WHERE delivery.subject IS NOT NULL AND delivery.event IN {_OPT_IN}
                AND (outcome.id IS NULL OR outcome.event <> delivery.event)
        """,
    ),
    Invariant(
        name="subscribed_outcomes_are_published",
        rule="Every refund, payout return, unapplied transfer and release has a delivery, if it was subscribed to.",
        # Only outcomes at least two seconds after the latest configuration, because earlier ones aren't stored.
        sql=_unpublished("""outcome.at - interval '2 seconds' > (
                    SELECT max(at) FROM merchants_auditentry audit
                    WHERE audit.action = 'webhook.configured' AND audit.business_id = endpoint.business_id)"""),
        on_sqlite=_unpublished("""julianday(outcome.at) - 2.0 / 86400 > (
                    SELECT max(julianday(at)) FROM merchants_auditentry audit
                    WHERE audit.action = 'webhook.configured' AND audit.business_id = endpoint.business_id)"""),
    ),
)
