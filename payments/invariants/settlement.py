"""Invariants between settlement batches, payments and the ledger."""

from ledger.invariants import Invariant
from payments.invariants.entry_sql import moved, without_cause

INVARIANTS = (
    Invariant(
        name="pending_balances_match_unreleased_payments",
        rule="The pending balance is the net of successful payments, less refunds and released batches.",
        sql="""
            SELECT 'account ' || account.id || ': ' || account.balance || ', not released ' || coalesce(amount, 0)
            FROM ledger_account account LEFT JOIN (
                SELECT business_id, currency, sum(amount) AS amount FROM (
                    SELECT business_id, currency,
                        CASE WHEN method = 'card' THEN amount_captured ELSE amount END - fee AS amount
                    FROM payments_transaction WHERE request_type = 'payment' AND status = 'success'
                    UNION ALL
                    SELECT refund.business_id, payment.currency, -refund.amount
                    FROM payments_cardoperation refund
                        JOIN payments_transaction payment ON payment.id = refund.transaction_id
                    WHERE refund.kind = 'refund' AND refund.status = 'success'
                    UNION ALL
                    SELECT business_id, currency, -net FROM payments_settlementbatch WHERE state = 'released'
                ) moved GROUP BY business_id, currency
            ) earned ON earned.business_id = account.business_id AND earned.currency = account.currency
            WHERE account.kind = 'pending_settlement' AND account.balance <> coalesce(amount, 0)
        """,
    ),
    Invariant(
        name="settle_status_matches_the_batch",
        rule=(
            "A payment's settle_status is the state of its live batch, or the one before while the batch's payments "
            "are being updated; without a live batch, it is empty or rejected."
        ),
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment
                LEFT JOIN payments_settlementitem item
                    ON item.transaction_id = payment.id AND item.operation_id IS NULL AND item.is_live
                LEFT JOIN payments_settlementbatch batch ON batch.id = item.batch_id
            WHERE payment.settle_status <> coalesce(
                batch.state, CASE WHEN payment.settle_status = 'rejected' THEN 'rejected' ELSE '' END)
                AND NOT coalesce(item.id > batch.updated_through AND (payment.settle_status, batch.state) IN (
                    VALUES ('initiated', 'pending'), ('pending', 'approved'), ('approved', 'released'),
                        ('initiated', 'rejected'), ('pending', 'rejected')), FALSE)
        """,
        keys={"payments_transaction payment": "id", "payments_settlementitem item": "transaction_id"},
    ),
    Invariant(
        name="batches_are_sums",
        rule="The totals of a complete batch are the sums of its items.",
        sql="""
            SELECT 'batch ' || batch.id
            FROM payments_settlementbatch batch LEFT JOIN (
                SELECT batch_id, sum(gross) AS gross, sum(fee) AS fees, sum(refunded) AS refunds,
                    sum(CASE WHEN operation_id IS NULL THEN 1 ELSE 0 END) AS payments
                FROM payments_settlementitem part GROUP BY batch_id) item ON item.batch_id = batch.id
            WHERE batch.state <> 'initiated' AND (
                coalesce(item.payments, 0) <> batch.payments_count OR coalesce(item.gross, 0) <> batch.gross
                OR coalesce(item.fees, 0) <> batch.fees OR coalesce(item.refunds, 0) <> batch.refunds)
        """,
        keys={"payments_settlementitem part": "batch_id", "payments_settlementbatch batch": "id"},
    ),
    Invariant(
        name="batch_items_match_payments_and_refunds",
        rule="An item of a batch has the received amount and fee of its payment, or the amount of a successful refund.",
        sql="""
            SELECT 'item ' || item.id
            FROM payments_settlementitem item
                JOIN payments_transaction payment ON payment.id = item.transaction_id
                LEFT JOIN payments_cardoperation refund ON refund.id = item.operation_id
            WHERE item.operation_id IS NULL AND (
                    item.fee <> payment.fee OR payment.status <> 'success' OR item.gross <>
                    CASE WHEN payment.method = 'card' THEN payment.amount_captured ELSE payment.amount END)
                OR item.operation_id IS NOT NULL AND (
                    refund.amount <> item.refunded OR refund.kind <> 'refund' OR refund.status <> 'success'
                    OR refund.transaction_id <> payment.id)
        """,
        keys={"payments_settlementitem item": "id"},
    ),
    Invariant(
        name="releases_are_booked",
        rule="A released batch has credited its net to the wallet; other batches have credited nothing.",
        sql=f"""
            SELECT 'batch ' || batch.id
            FROM payments_settlementbatch batch LEFT JOIN ({moved("settlement_released", "wallet")}) booked
                ON booked.cause = batch.id
            WHERE coalesce(booked.amount, 0) <> CASE WHEN batch.state = 'released' THEN batch.net ELSE 0 END
                OR booked.currency <> batch.currency OR booked.business_id <> batch.business_id
        """,
    ),
    Invariant(
        name="release_entries_have_batches",
        rule="An entry of a release belongs to a released batch.",
        sql=without_cause(
            "settlement_released",
            table="payments_settlementbatch",
            alias="batch",
            condition="batch.state = 'released'",
        ),
    ),
    Invariant(
        name="debts_are_brought_forward_once",
        rule="The amount that a live batch brings forward is the debt of the batches that were carried into it.",
        sql="""
            SELECT 'batch ' || batch.id
            FROM payments_settlementbatch batch LEFT JOIN (
                SELECT carried_into_id, sum(carried_forward) AS owed
                FROM payments_settlementbatch GROUP BY carried_into_id) earlier
                ON earlier.carried_into_id = batch.id
            WHERE batch.state NOT IN ('initiated', 'rejected') AND coalesce(owed, 0) <> batch.brought_forward
        """,
    ),
)
