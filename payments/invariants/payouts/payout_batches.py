"""Invariants between payout batches, their items and payouts. See `ledger.invariants` for the format."""

from ledger.invariants import Invariant

INVARIANTS = (
    Invariant(
        name="batches_have_their_items",
        rule="The number and sum of a payout batch are those of its items, which are in its currency.",
        sql="""
            SELECT 'payout batch ' || batch.id
            FROM payout_batches_payoutbatch batch LEFT JOIN (
                SELECT batch_id, count(*) AS number, sum(amount) AS amount,
                    min(currency) AS lowest, max(currency) AS highest
                FROM payout_batches_payoutbatchitem item GROUP BY batch_id
            ) items ON items.batch_id = batch.id
            WHERE items.number IS NULL OR items.number <> batch.item_count OR items.amount <> batch.amount
                OR items.lowest <> batch.currency OR items.highest <> batch.currency
        """,
    ),
    Invariant(
        name="sent_items_were_approved",
        rule="An item with a payout belongs to a batch that was approved before, and the payout is what was approved.",
        sql="""
            SELECT 'item ' || item.id
            FROM payout_batches_payoutbatchitem item
                JOIN payout_batches_payoutbatch batch ON batch.id = item.batch_id
                LEFT JOIN payments_transaction payment ON payment.id = item.payout_id
            WHERE item.payout_id IS NOT NULL AND (
                batch.released_at IS NULL OR payment.id IS NULL
                OR payment.created_at < batch.released_at OR payment.reference <> item.reference
                OR payment.amount <> item.amount OR payment.currency <> item.currency
                OR payment.account_number <> item.account_number OR payment.bank_code <> item.bank_code
                OR payment.business_id <> item.business_id)
        """,
        keys={"payout_batches_payoutbatchitem item": "payout_id", "payments_transaction payment": "id"},
    ),
    Invariant(
        name="ended_batches_have_final_items",
        rule="Each item of a payout batch that has ended is final.",
        sql="""
            SELECT 'item ' || item.id
            FROM payout_batches_payoutbatchitem item
                JOIN payout_batches_payoutbatch batch ON batch.id = item.batch_id
                LEFT JOIN payments_transaction payment ON payment.id = item.payout_id
            WHERE batch.status IN ('completed', 'cancelled') AND (
                item.state NOT IN ('cancelled', 'failed', 'sent') OR payment.status = 'pending')
        """,
        keys={"payout_batches_payoutbatchitem item": "payout_id", "payments_transaction payment": "id"},
    ),
)
