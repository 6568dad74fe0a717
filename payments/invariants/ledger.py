"""Invariants between the ledger and payments: every posting has its cause, and every cause its posting.

See `ledger.invariants` for the format. `check_ledger` checks all of them.
"""

from ledger import invariants as ledger
from ledger.invariants import Invariant
from payments.invariants import currencies, events, transfers
from payments.invariants import staff_decisions as staff
from payments.invariants.entry_sql import moved

_CAPTURED = "payment.request_type = 'payment' AND payment.method = 'card' AND payment.status = 'success'"

INVARIANTS = (
    *ledger.INVARIANTS,
    Invariant(
        name="captures_are_booked",
        rule="A successful card payment has an entry of what was captured, and has earned that less its fee.",
        sql=f"""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment LEFT JOIN (
                SELECT entry.cause, entry.currency, entry.business_id,
                    sum(CASE account.kind WHEN 'acquirer_receivable' THEN -posting.amount END) AS captured,
                    sum(CASE account.kind WHEN 'pending_settlement' THEN posting.amount END) AS earned
                FROM ledger_entry entry
                    JOIN ledger_posting posting ON posting.entry_id = entry.id
                    JOIN ledger_account account ON account.id = posting.account_id
                WHERE entry.kind = 'card' GROUP BY entry.id
            ) booked ON booked.cause = payment.id
            WHERE {_CAPTURED} AND (
                booked.captured IS NULL OR booked.captured <> payment.amount_captured
                OR coalesce(booked.earned, 0) <> payment.amount_captured - payment.fee
                OR booked.currency <> payment.currency OR booked.business_id <> payment.business_id)
        """,
    ),
    Invariant(
        name="card_entries_have_payments",
        rule="An entry of a card payment has a successful one.",
        sql=f"""
            SELECT 'entry ' || entry.id
            FROM ledger_entry entry LEFT JOIN payments_transaction payment
                ON payment.id = entry.cause AND {_CAPTURED}
            WHERE entry.kind = 'card' AND payment.id IS NULL
        """,
    ),
    Invariant(
        name="refunds_are_booked",
        rule="A successful refund to a card has an entry of its amount, and nothing else has one.",
        sql=f"""
            SELECT 'refund ' || coalesce(refund.id, booked.cause)
            FROM (
                SELECT * FROM payments_cardoperation
                WHERE kind = 'refund' AND status = 'success' AND connector = ''
            ) refund FULL JOIN ({moved("refund", "refunds_payable")}) booked ON booked.cause = refund.id
            WHERE refund.id IS NULL OR booked.amount IS NULL OR booked.amount <> refund.amount
        """,
    ),
    Invariant(
        name="refunded_amounts_are_sums",
        rule="What is refunded and being refunded of a payment are the sums of its refunds.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment LEFT JOIN (
                SELECT transaction_id,
                    sum(CASE WHEN status = 'success' THEN amount ELSE 0 END) AS done,
                    sum(CASE WHEN status = 'pending' THEN amount ELSE 0 END) AS open
                FROM payments_cardoperation WHERE kind = 'refund' GROUP BY transaction_id
            ) refunds ON refunds.transaction_id = payment.id
            WHERE amount_refunded <> coalesce(done, 0) OR amount_being_refunded <> coalesce(open, 0)
        """,
    ),
    Invariant(
        name="expired_authorisations_are_released",
        rule="An authorisation that expired has a void that was opened with its expiry or later.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment
            WHERE payment.method = 'card' AND payment.response_code = '20068' AND NOT EXISTS (
                SELECT 1 FROM payments_cardoperation void
                WHERE void.transaction_id = payment.id AND void.kind = 'void'
                    AND void.created_at >= payment.finished_at)
        """,
    ),
    Invariant(
        name="trace_numbers_are_given_out_once",
        rule="No two card transactions or operations have one RRN. It repeats only after ten years.",
        sql="""
            SELECT 'RRN ' || rrn || ': ' || count(*) || ' messages'
            FROM (
                SELECT retrieval_reference_number AS rrn, created_at FROM payments_transaction
                UNION ALL
                SELECT retrieval_reference_number, created_at FROM payments_cardoperation
            ) message
            WHERE rrn <> '' GROUP BY rrn, substr(CAST(created_at AS text), 1, 4) HAVING count(*) > 1
        """,
    ),
    Invariant(
        name="trace_numbers_belong_together",
        rule="The last six digits of an RRN are its message's STAN.",
        sql="""
            SELECT 'RRN ' || rrn || ', STAN ' || stan
            FROM (
                SELECT retrieval_reference_number AS rrn, system_trace_audit_number AS stan
                FROM payments_transaction
                UNION ALL
                SELECT retrieval_reference_number, system_trace_audit_number FROM payments_cardoperation
            ) message
            WHERE rrn <> '' AND (length(rrn) <> 12 OR substr(rrn, 7) <> stan)
        """,
    ),
    Invariant(
        name="cancelled_payments_took_nothing",
        rule="A cancelled payment has failed: nothing was captured or booked, and its session has failed with it.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment
                LEFT JOIN virtual_accounts_session session ON session.id = payment.session_id
            WHERE payment.response_code = '20091' AND (
                payment.status <> 'failed' OR payment.request_type <> 'payment' OR payment.amount_captured <> 0
                OR session.status <> 'failed' OR session.amount_received IS NOT NULL
                OR EXISTS (SELECT 1 FROM ledger_entry WHERE cause = payment.id))
        """,
    ),
    Invariant(
        name="pending_is_what_was_not_released",
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
        name="payouts_are_taken_from_the_wallet",
        rule="A payout that is pending or has succeeded was taken from the wallet: its amount, and its fee.",
        sql=f"""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment LEFT JOIN ({moved("payout_accepted", "wallet")}) booked
                ON booked.cause = payment.id
            WHERE payment.request_type = 'payout' AND (
                payment.status = 'success'
                    AND coalesce(-booked.amount, 0) <> payment.amount + payment.fee
                OR payment.status = 'pending' AND coalesce(-booked.amount, 0) < payment.amount)
        """,
    ),
    Invariant(
        name="payouts_are_sent_and_booked",
        rule="A successful payout has an entry of what the bank has sent, and no other one has.",
        sql=f"""
            SELECT 'payout ' || coalesce(payout.id, booked.cause)
            FROM (
                SELECT * FROM payments_transaction WHERE request_type = 'payout' AND status = 'success'
            ) payout FULL JOIN ({moved("payout_sent", "bank_clearing")}) booked ON booked.cause = payout.id
            WHERE payout.id IS NULL OR booked.amount IS NULL OR booked.amount <> payout.amount
                OR booked.currency <> payout.currency OR booked.business_id <> payout.business_id
        """,
    ),
    Invariant(
        name="failed_payouts_are_given_back",
        rule="A failed payout is given back to the wallet as it was taken, and no other one is.",
        sql=f"""
            SELECT 'payout ' || coalesce(payout.id, back.cause)
            FROM (
                SELECT payment.id, taken.amount FROM payments_transaction payment
                    JOIN ({moved("payout_accepted", "wallet")}) taken ON taken.cause = payment.id
                WHERE request_type = 'payout' AND status = 'failed'
            ) payout FULL JOIN ({moved("payout_failed", "wallet")}) back ON back.cause = payout.id
            WHERE payout.id IS NULL OR back.amount IS NULL OR back.amount <> -payout.amount
        """,
    ),
    Invariant(
        name="only_uncovered_payouts_take_nothing",
        rule="A payout that was taken from no wallet has failed with 20051.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment LEFT JOIN ledger_entry entry
                ON entry.kind = 'payout_accepted' AND entry.cause = payment.id
            WHERE request_type = 'payout' AND entry.id IS NULL
                AND NOT (status = 'failed' AND response_code = '20051')
        """,
    ),
    Invariant(
        name="accepted_payouts_are_payouts",
        rule="What was taken from a wallet for a payout has that payout.",
        sql="""
            SELECT 'entry ' || entry.id
            FROM ledger_entry entry LEFT JOIN payments_transaction payment
                ON payment.id = entry.cause AND payment.request_type = 'payout'
            WHERE entry.kind = 'payout_accepted' AND payment.id IS NULL
        """,
    ),
    Invariant(
        name="money_in_flight_is_of_pending_payouts",
        rule="The money in flight is what was taken for the payouts that are pending.",
        sql=f"""
            SELECT 'account ' || account.id || ': ' || account.balance || ', pending ' || coalesce(open.amount, 0)
            FROM ledger_account account LEFT JOIN (
                SELECT taken.business_id, taken.currency, sum(taken.amount) AS amount
                FROM ({moved("payout_accepted", "payouts_in_flight")}) taken
                    JOIN payments_transaction payment ON payment.id = taken.cause
                WHERE payment.status = 'pending' GROUP BY taken.business_id, taken.currency
            ) open ON open.business_id = account.business_id AND open.currency = account.currency
            WHERE account.kind = 'payouts_in_flight' AND account.balance <> coalesce(open.amount, 0)
        """,
    ),
    Invariant(
        name="reversals_are_booked",
        rule="A return that reversed a successful payout has an entry of its amount; nothing else has one.",
        sql=f"""
            SELECT 'payout return ' || coalesce(returned.id, booked.cause)
            FROM (
                SELECT returned.id, returned.amount, payment.business_id, payment.currency
                FROM payments_payoutreturn returned
                    JOIN payments_transaction payment ON payment.id = returned.transaction_id
                        AND payment.request_type = 'payout' AND payment.status = 'success'
                WHERE returned.applied = 'reversed'
            ) returned FULL JOIN ({moved("payout_reversed", "wallet")}) booked ON booked.cause = returned.id
            WHERE returned.id IS NULL OR booked.amount IS NULL OR booked.amount <> returned.amount
                OR booked.currency <> returned.currency OR booked.business_id <> returned.business_id
        """,
    ),
    Invariant(
        name="returned_amounts_are_sums",
        rule="The returned amount of a payout is the sum of its returns, and at most its amount.",
        sql="""
            SELECT 'transaction ' || coalesce(payment.id, returned.transaction_id)
            FROM (
                SELECT transaction_id, sum(amount) AS amount FROM payments_payoutreturn
                WHERE applied = 'reversed' GROUP BY transaction_id
            ) returned FULL JOIN (SELECT * FROM payments_transaction WHERE amount_returned <> 0) payment
                ON payment.id = returned.transaction_id
            WHERE payment.id IS NULL OR returned.amount IS NULL
                OR payment.amount_returned <> returned.amount OR payment.amount_returned > payment.amount
        """,
    ),
    Invariant(
        name="returned_pending_payouts_failed",
        rule="A pending payout that the bank returned in full has failed.",
        sql="""
            SELECT 'payout return ' || returned.id
            FROM payments_payoutreturn returned
                JOIN payments_transaction payment ON payment.id = returned.transaction_id
            WHERE returned.applied = 'failed' AND (
                payment.status <> 'failed' OR returned.amount <> payment.amount
                OR returned.currency <> payment.currency)
        """,
    ),
    Invariant(
        name="fees_are_those_of_successes",
        rule="The fees earned of a business are the fees of its successful transactions.",
        sql="""
            SELECT 'account ' || account.id || ': ' || account.balance || ', charged ' || coalesce(charged, 0)
            FROM ledger_account account LEFT JOIN (
                SELECT business_id, currency, sum(fee) AS charged FROM payments_transaction
                WHERE status = 'success' GROUP BY business_id, currency
            ) successes ON successes.business_id = account.business_id
                AND successes.currency = account.currency
            WHERE account.kind = 'fees' AND account.balance <> coalesce(charged, 0)
        """,
    ),
    Invariant(
        name="what_failed_costs_nothing",
        rule="A transaction that has not succeeded has captured nothing and has no fee.",
        sql="""
            SELECT 'transaction ' || id FROM payments_transaction
            WHERE status <> 'success' AND (fee <> 0 OR amount_captured <> 0 OR amount_refunded <> 0)
        """,
    ),
    Invariant(
        name="what_is_final_was_logged_once",
        rule="A finished transaction has one move to its status in the log; one that is pending has none.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment LEFT JOIN (
                SELECT transaction_id, count(*) AS moves, max(after) AS status
                FROM payments_transition WHERE attribute = 'status' GROUP BY transaction_id
            ) log ON log.transaction_id = payment.id
            WHERE (payment.status = 'pending') <> (log.moves IS NULL)
                OR log.moves > 1 OR log.status <> payment.status
        """,
    ),
    Invariant(
        name="settle_status_is_the_state_of_the_batch",
        rule="A payment's settle_status is the state of the live batch that it is in; in none, it is empty or rejected.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment
                LEFT JOIN payments_settlementitem item
                    ON item.transaction_id = payment.id AND item.operation_id IS NULL AND item.is_live
                LEFT JOIN payments_settlementbatch batch ON batch.id = item.batch_id
            WHERE payment.settle_status <> coalesce(
                batch.state, CASE WHEN payment.settle_status = 'rejected' THEN 'rejected' ELSE '' END)
        """,
    ),
    Invariant(
        name="batches_are_sums",
        rule="The totals of a complete batch are the sums of its items.",
        sql="""
            SELECT 'batch ' || batch.id
            FROM payments_settlementbatch batch LEFT JOIN (
                SELECT batch_id, sum(gross) AS gross, sum(fee) AS fees, sum(refunded) AS refunds,
                    sum(CASE WHEN operation_id IS NULL THEN 1 ELSE 0 END) AS payments
                FROM payments_settlementitem GROUP BY batch_id) item ON item.batch_id = batch.id
            WHERE batch.state <> 'initiated' AND (
                coalesce(item.payments, 0) <> batch.payments_count OR coalesce(item.gross, 0) <> batch.gross
                OR coalesce(item.fees, 0) <> batch.fees OR coalesce(item.refunds, 0) <> batch.refunds)
        """,
    ),
    Invariant(
        name="items_are_what_was_paid_and_refunded",
        rule="A batch's items are what came in and its fee, or the amount of a successful refund, of their payment.",
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
    ),
    Invariant(
        name="releases_are_booked",
        rule="A released batch has brought its net into the wallet, and no other batch has brought anything.",
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
        rule="An entry of a release has a released batch.",
        sql="""
            SELECT 'entry ' || entry.id
            FROM ledger_entry entry LEFT JOIN payments_settlementbatch batch
                ON batch.id = entry.cause AND batch.state = 'released'
            WHERE entry.kind = 'settlement_released' AND batch.id IS NULL
        """,
    ),
    Invariant(
        name="debts_are_brought_forward_once",
        rule="What a live batch brings forward is what the batches carried into it could not cover.",
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
        name="events_tell_what_happened",
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
    ),
    Invariant(
        name="outcomes_are_told",
        rule="What finished while an endpoint was subscribed to it has its delivery.",
        # Only transactions at least two seconds after the latest configuration, because earlier ones aren't stored.
        sql="""
            SELECT 'transaction ' || payment.id
            FROM webhooks_endpoint endpoint JOIN payments_transaction payment
                ON payment.business_id = endpoint.business_id
            WHERE payment.status <> 'pending'
                AND CAST(endpoint.subscribed_events AS text) LIKE '%"' || payment.request_type || '"%'
                AND payment.finished_at - interval '2 seconds' > (
                    SELECT max(at) FROM merchants_auditentry audit
                    WHERE audit.action = 'webhook.configured' AND audit.business_id = endpoint.business_id)
                AND NOT EXISTS (SELECT 1 FROM webhooks_delivery WHERE subject = payment.id)
        """,
        on_sqlite="""
            SELECT 'transaction ' || payment.id
            FROM webhooks_endpoint endpoint JOIN payments_transaction payment
                ON payment.business_id = endpoint.business_id
            WHERE payment.status <> 'pending'
                AND CAST(endpoint.subscribed_events AS text) LIKE '%"' || payment.request_type || '"%'
                AND julianday(payment.finished_at) - 2.0 / 86400 > (
                    SELECT max(julianday(at)) FROM merchants_auditentry audit
                    WHERE audit.action = 'webhook.configured' AND audit.business_id = endpoint.business_id)
                AND NOT EXISTS (SELECT 1 FROM webhooks_delivery WHERE subject = payment.id)
        """,
    ),
    Invariant(
        name="days_are_counted_whole",
        rule="What is counted of a day that is over is as many transactions as there are.",
        sql="""
            SELECT 'business ' || business_id || ' on ' || day || ': ' || coalesce(counted.count, 0) || ' of '
                || coalesce(made.count, 0)
            FROM (
                SELECT business_id, day, jsonb_array_length(unfinished) + (
                    SELECT coalesce(sum((tally ->> 'count')::bigint), 0) FROM jsonb_array_elements(tallies) tally
                ) AS count
                FROM payments_daytotals
            ) counted FULL JOIN (
                SELECT business_id, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS count
                FROM payments_transaction GROUP BY 1, 2
            ) made USING (business_id, day) JOIN payments_rolledday USING (day)
            WHERE counted.count IS DISTINCT FROM made.count
        """,
        on_sqlite="""
            SELECT 'business ' || business_id || ' on ' || day || ': ' || coalesce(counted.count, 0) || ' of '
                || coalesce(made.count, 0)
            FROM (
                SELECT business_id, day, json_array_length(unfinished) + (
                    SELECT coalesce(sum(json_extract(value, '$.count')), 0) FROM json_each(tallies)
                ) AS count
                FROM payments_daytotals
            ) counted FULL JOIN (
                SELECT business_id, date(created_at) AS day, count(*) AS count
                FROM payments_transaction GROUP BY 1, 2
            ) made USING (business_id, day) JOIN payments_rolledday USING (day)
            WHERE counted.count IS NOT made.count
        """,
    ),
    *currencies.INVARIANTS,
    *staff.INVARIANTS,
    *transfers.INVARIANTS,
    *events.INVARIANTS,
)
