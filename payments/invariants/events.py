"""Invariants of events: every published event matches an outcome, and every subscribed outcome is published."""

from ledger.invariants import Invariant

_OPT_IN = (
    "('refund.success', 'refund.failed', 'payout.reversed', 'unapplied', 'released', "
    "'dispute.opened', 'dispute.updated', 'dispute.due_soon', 'dispute.closed', 'balance.adjusted')"
)

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
                WHERE transition.after = 'released'
                UNION ALL
                SELECT step.id, dispute.business_id, step.at, 'dispute', CASE
                    WHEN step.kind IN ('opened', 'closed') THEN 'dispute.' || step.kind
                    WHEN step.kind IN ('half_time', 'last_quarter') THEN 'dispute.due_soon'
                    ELSE 'dispute.updated' END
                FROM disputes_disputestep step JOIN disputes_dispute dispute ON dispute.id = step.dispute_id
                WHERE step.kind <> 'debited'
                UNION ALL
                SELECT journal.id, journal.business_id, journal.at, 'balance', 'balance.adjusted'
                FROM payments_journal journal JOIN payments_journalleg leg ON leg.journal_id = journal.id
                WHERE leg.kind = 'wallet' AND leg.amount < 0"""

# Unapplied money that is open again because its return came back: `event_subjects.reopening_by` derives the id.
_REOPENINGS = """
                UNION ALL
                SELECT {id}, payout.business_id, returned.at, 'unapplied', 'unapplied'
                FROM payments_payoutreturn returned
                    JOIN payments_transaction payout ON payout.id = returned.transaction_id
                WHERE returned.applied = 'reversed' AND payout.reference LIKE 'return_%'"""


def _without_outcome(reopening_id: str) -> str:
    """Return the query for deliveries of opt-in events without a matching outcome."""
    return f"""
            SELECT 'delivery ' || delivery.id
            FROM webhooks_delivery delivery LEFT JOIN ({_OUTCOMES}{_REOPENINGS.format(id=reopening_id)}
            ) outcome ON outcome.id = delivery.subject AND outcome.business_id = delivery.business_id
            WHERE delivery.subject IS NOT NULL AND delivery.event IN {_OPT_IN}
                AND (outcome.id IS NULL OR outcome.event <> delivery.event)
        """


def _unpublished(is_later: str) -> str:
    """Return the query for outcomes without a delivery that came later than the webhook configuration."""
    return f"""
            SELECT outcome.category || ' ' || outcome.id
            FROM webhooks_endpoint endpoint JOIN ({_OUTCOMES}
            ) outcome ON outcome.business_id = endpoint.business_id
            WHERE endpoint.deleted_at IS NULL AND CAST(endpoint.subscribed_events AS text) LIKE '%"' || outcome.category || '"%'
                AND {is_later}
                AND NOT EXISTS (SELECT 1 FROM webhooks_delivery
                    WHERE subject = outcome.id AND endpoint_number = endpoint.number)
        """


INVARIANTS = (
    Invariant(
        name="events_match_outcomes",
        rule="A payment or payout event is about a finished transaction of its business, and names its status.",
        sql="""
            SELECT 'delivery ' || delivery.id
            FROM webhooks_delivery delivery LEFT JOIN payments_transaction payment
                ON payment.id = delivery.subject AND payment.business_id = delivery.business_id
            WHERE delivery.subject IS NOT NULL
                AND delivery.event IN (
                    'payment.success', 'payment.failed', 'payment.mismatch', 'payout.success', 'payout.failed')
                AND (payment.id IS NULL
                OR delivery.event <> payment.request_type || '.' || payment.status
                AND NOT (delivery.event = 'payment.mismatch' AND payment.status = 'failed'))
        """,
        keys={"webhooks_delivery delivery": "subject", "payments_transaction payment": "id"},
    ),
    Invariant(
        name="finished_transactions_are_published",
        rule="A transaction that finished while an endpoint was subscribed to its event has a delivery.",
        # Only transactions at least two seconds after the latest configuration, because earlier ones aren't stored.
        sql="""
            SELECT 'transaction ' || payment.id
            FROM webhooks_endpoint endpoint JOIN payments_transaction payment
                ON payment.business_id = endpoint.business_id
            WHERE payment.status <> 'pending' AND endpoint.deleted_at IS NULL
                AND CAST(endpoint.subscribed_events AS text) LIKE '%"' || payment.request_type || '"%'
                AND payment.finished_at - interval '2 seconds' > (
                    SELECT max(at) FROM merchants_auditentry audit
                    WHERE audit.action = 'webhook.configured' AND audit.business_id = endpoint.business_id)
                AND NOT EXISTS (SELECT 1 FROM webhooks_delivery delivery
                    WHERE delivery.subject = payment.id AND delivery.endpoint_number = endpoint.number)
        """,
        on_sqlite="""
            SELECT 'transaction ' || payment.id
            FROM webhooks_endpoint endpoint JOIN payments_transaction payment
                ON payment.business_id = endpoint.business_id
            WHERE payment.status <> 'pending' AND endpoint.deleted_at IS NULL
                AND CAST(endpoint.subscribed_events AS text) LIKE '%"' || payment.request_type || '"%'
                AND julianday(payment.finished_at) - 2.0 / 86400 > (
                    SELECT max(julianday(at)) FROM merchants_auditentry audit
                    WHERE audit.action = 'webhook.configured' AND audit.business_id = endpoint.business_id)
                AND NOT EXISTS (SELECT 1 FROM webhooks_delivery delivery
                    WHERE delivery.subject = payment.id AND delivery.endpoint_number = endpoint.number)
        """,
        keys={"payments_transaction payment": "id", "webhooks_delivery delivery": "subject"},
    ),
    Invariant(
        name="opt_in_events_match_outcomes",
        rule="A delivery of an opt-in event has a matching outcome of its business.",
        sql=_without_outcome("CAST(overlay(CAST(returned.id AS text) placing '8' from 15 for 1) AS uuid)"),
        on_sqlite=_without_outcome("substr(returned.id, 1, 12) || '8' || substr(returned.id, 14)"),
    ),
    Invariant(
        name="subscribed_outcomes_are_published",
        rule="Every refund, payout return, unapplied transfer, release, step of a dispute and debit by staff that was subscribed to has a delivery.",
        # Only outcomes at least two seconds after the latest configuration, because earlier ones aren't stored.
        sql=_unpublished("""outcome.at - interval '2 seconds' > (
                    SELECT max(at) FROM merchants_auditentry audit
                    WHERE audit.action = 'webhook.configured' AND audit.business_id = endpoint.business_id)"""),
        on_sqlite=_unpublished("""julianday(outcome.at) - 2.0 / 86400 > (
                    SELECT max(julianday(at)) FROM merchants_auditentry audit
                    WHERE audit.action = 'webhook.configured' AND audit.business_id = endpoint.business_id)"""),
    ),
)
