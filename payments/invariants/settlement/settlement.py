"""Invariants between settlement batches, payments and the ledger."""

from ledger.invariants import Invariant
from payments.invariants.entry_sql import legs_of_journals, moved, without_cause

# What an acquirer's statement, with a line of a match, says was paid out and no bank's statement has.
_ON_THE_WAY = """
                    SELECT 1 FROM cash_matchedline its JOIN cash_statementline own ON own.id = its.line_id
                        JOIN cash_statement told ON told.id = own.statement_id
                        JOIN cash_bankaccount account ON account.id = told.account_id AND account.kind <> 'bank'
                        JOIN cash_statementline paid ON paid.statement_id = told.id AND paid.kind = 'paid_out'
                    WHERE its.match_id = matched.match_id AND NOT EXISTS (
                        SELECT 1 FROM cash_matcheditem seen
                        WHERE seen.kind = 'settlement' AND seen.item = paid."order")
"""
# What a match is of that a journal explains without a line.
_EXPLAINED_AWAY = """
                    SELECT 1 FROM cash_matcheditem journal
                    WHERE journal.match_id = matched.match_id AND journal.kind = 'journal' AND NOT EXISTS (
                        SELECT 1 FROM cash_matchedline line WHERE line.match_id = matched.match_id)
"""
_HAS_ARRIVED = f"NOT EXISTS ({_ON_THE_WAY}) AND NOT EXISTS ({_EXPLAINED_AWAY})"

INVARIANTS = (
    Invariant(
        name="pending_balances_match_unreleased_payments",
        rule="The pending balance is the net of successful payments, less refunds, disputes and released batches, with what "
        "journals moved.",
        sql=f"""
            SELECT 'account ' || account.id || ': ' || account.balance || ', not released ' || coalesce(amount, 0)
            FROM ledger_account account LEFT JOIN (
                SELECT business_id, currency, sum(amount) AS amount FROM (
                    SELECT business_id, currency,
                        CASE WHEN method = 'card' THEN amount_captured ELSE amount END - fee - fee_tax AS amount
                    FROM payments_transaction WHERE request_type = 'payment' AND status = 'success'
                    UNION ALL
                    SELECT refund.business_id, payment.currency, -refund.amount
                    FROM payments_cardoperation refund
                        JOIN payments_transaction payment ON payment.id = refund.transaction_id
                    WHERE refund.kind = 'refund' AND refund.status = 'success'
                    UNION ALL
                    SELECT business_id, currency, -net FROM payments_settlementbatch WHERE state = 'released'
                    UNION ALL
                    SELECT dispute.business_id, dispute.currency, -step.taken - step.fee
                    FROM disputes_disputestep step JOIN disputes_dispute dispute ON dispute.id = step.dispute_id
                    UNION ALL
                    {legs_of_journals("pending_settlement", "journal.business_id, journal.currency, leg.amount")}
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
                    ON item.transaction_id = payment.id AND item.operation_id IS NULL
                    AND item.dispute_step_id IS NULL AND item.is_live
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
                SELECT batch_id, sum(gross) AS gross, sum(fee) AS fees, sum(fee_tax) AS taxes,
                    sum(refunded) AS refunds, sum(disputed) AS disputes,
                    sum(CASE WHEN operation_id IS NULL AND dispute_step_id IS NULL THEN 1 ELSE 0 END) AS payments
                FROM payments_settlementitem part GROUP BY batch_id) item ON item.batch_id = batch.id
            WHERE batch.state <> 'initiated' AND (
                coalesce(item.payments, 0) <> batch.payments_count OR coalesce(item.gross, 0) <> batch.gross
                OR coalesce(item.fees, 0) <> batch.fees OR coalesce(item.taxes, 0) <> batch.taxes OR coalesce(item.refunds, 0) <> batch.refunds
                OR coalesce(item.disputes, 0) <> batch.disputes)
        """,
        keys={"payments_settlementitem part": "batch_id", "payments_settlementbatch batch": "id"},
    ),
    Invariant(
        name="batch_items_match_payments_and_refunds",
        rule="An item of a batch has the received amount, fee and tax of its payment, the amount of a successful refund, or "
        "what a step of a dispute took.",
        sql="""
            SELECT 'item ' || item.id
            FROM payments_settlementitem item
                JOIN payments_transaction payment ON payment.id = item.transaction_id
                LEFT JOIN payments_cardoperation refund ON refund.id = item.operation_id
                LEFT JOIN disputes_disputestep step ON step.id = item.dispute_step_id
                LEFT JOIN disputes_dispute dispute ON dispute.id = step.dispute_id
            WHERE item.dispute_step_id IS NOT NULL AND (
                    item.fee <> step.fee OR item.disputed <> step.taken
                    OR dispute.transaction_id <> payment.id)
                OR item.operation_id IS NULL AND item.dispute_step_id IS NULL AND (
                    item.fee <> payment.fee OR item.fee_tax <> payment.fee_tax OR payment.status <> 'success' OR item.gross <>
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
    Invariant(
        name="batches_are_approved_with_their_money",
        rule="Where money must arrive, what is missing of an approved batch is at most what two people approved without it.",
        sql=f"""
            SELECT 'batch ' || batch.id || ': ' || sum(item.gross) || ' missing, ' || batch.unfunded || ' approved without'
            FROM payments_settlementbatch batch
                JOIN payments_settlementitem item ON item.batch_id = batch.id
                    AND item.operation_id IS NULL AND item.dispute_step_id IS NULL
                JOIN payments_transaction payment ON payment.id = item.transaction_id
            WHERE batch.funds_required AND batch.state IN ('approved', 'released') AND NOT EXISTS (
                SELECT 1 FROM cash_matcheditem matched
                WHERE matched.kind = 'payment' AND matched.item = payment.id AND {_HAS_ARRIVED}
            ) AND NOT EXISTS (
                SELECT 1 FROM virtual_accounts_transfer transfer
                    JOIN cash_matcheditem matched ON matched.kind = 'transfer' AND matched.item = transfer.id
                WHERE transfer.session_id = payment.session_id AND {_HAS_ARRIVED}
            )
            GROUP BY batch.id, batch.unfunded HAVING sum(item.gross) > batch.unfunded
        """,
        keys={"payments_settlementbatch batch": "id", "payments_settlementitem item": "batch_id"},
    ),
    Invariant(
        name="unfunded_batches_were_confirmed",
        rule="A batch that was approved without its money has the confirmed proposal of two people, or is the sandbox's.",
        sql="""
            SELECT 'batch ' || batch.id
            FROM payments_settlementbatch batch
            WHERE batch.unfunded > 0 AND batch.unfunded_by <> 'sandbox' AND NOT EXISTS (
                SELECT 1 FROM payments_proposal proposal
                WHERE proposal.target = batch.id AND proposal.action IN ('approve_unfunded', 'release_batch')
                    AND proposal.state = 'confirmed')
        """,
    ),
)
