"""Invariants between card payments, their refunds and the ledger."""

from ledger.invariants import Invariant
from payments.invariants.entry_sql import moved, without_cause

_CAPTURED = "payment.request_type = 'payment' AND payment.method = 'card' AND payment.status = 'success'"

INVARIANTS = (
    Invariant(
        name="captures_are_booked",
        rule="A successful card payment has an entry of the captured amount, and of that amount less its fee and tax as earned.",
        sql=f"""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment LEFT JOIN (
                SELECT entry.cause, entry.currency, entry.business_id,
                    sum(CASE account.kind WHEN 'acquirer_receivable' THEN -posting.amount END) AS captured,
                    sum(CASE account.kind WHEN 'pending_settlement' THEN posting.amount END) AS earned
                FROM ledger_entry entry
                    JOIN ledger_posting posting ON posting.entry_id = entry.id
                    JOIN ledger_account account ON account.id = posting.account_id
                WHERE entry.kind = 'card'
                GROUP BY entry.id, entry.cause, entry.currency, entry.business_id
            ) booked ON booked.cause = payment.id
            WHERE {_CAPTURED} AND (
                booked.captured IS NULL OR booked.captured <> payment.amount_captured
                OR coalesce(booked.earned, 0) <> payment.amount_captured - payment.fee - payment.fee_tax
                OR booked.currency <> payment.currency OR booked.business_id <> payment.business_id)
        """,
        keys={"payments_transaction payment": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="card_entries_have_payments",
        rule="An entry of a card payment belongs to a successful one.",
        sql=without_cause("card", table="payments_transaction", alias="payment", condition=_CAPTURED),
        keys={"payments_transaction payment": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="refunds_are_booked",
        rule="A successful refund to a card has an entry of its amount; no other entry of this kind exists.",
        sql=f"""
            SELECT 'refund ' || coalesce(refund.id, booked.cause)
            FROM (
                SELECT * FROM payments_cardoperation operation
                WHERE kind = 'refund' AND status = 'success' AND connector = ''
            ) refund FULL JOIN ({moved("refund", "refunds_payable")}) booked ON booked.cause = refund.id
            WHERE refund.id IS NULL OR booked.amount IS NULL OR booked.amount <> refund.amount
        """,
        keys={"payments_cardoperation operation": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="refunded_amounts_are_sums",
        rule="The refunded and pending refund amounts of a payment are the sums of its refunds.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment LEFT JOIN (
                SELECT transaction_id,
                    sum(CASE WHEN status = 'success' THEN amount ELSE 0 END) AS done,
                    sum(CASE WHEN status = 'pending' THEN amount ELSE 0 END) AS open
                FROM payments_cardoperation refund WHERE kind = 'refund' GROUP BY transaction_id
            ) refunds ON refunds.transaction_id = payment.id
            WHERE amount_refunded <> coalesce(done, 0) OR amount_being_refunded <> coalesce(open, 0)
        """,
        keys={"payments_transaction payment": "id", "payments_cardoperation refund": "transaction_id"},
    ),
    Invariant(
        name="expired_authorisations_are_released",
        rule="An expired authorisation has a void that was created at its expiry or later.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment
            WHERE payment.method = 'card' AND payment.response_code = '20068' AND NOT EXISTS (
                SELECT 1 FROM payments_cardoperation void
                WHERE void.transaction_id = payment.id AND void.kind = 'void'
                    AND void.created_at >= payment.finished_at)
        """,
        keys={"payments_transaction payment": "id"},
    ),
    Invariant(
        name="trace_numbers_are_unique",
        rule="No two card transactions or operations share an RRN of ours. RRNs repeat only after ten years.",
        sql="""
            SELECT 'RRN ' || rrn || ': ' || count(*) || ' messages'
            FROM (
                SELECT retrieval_reference_number AS rrn, created_at FROM payments_transaction
                WHERE acquirer_reference = ''
                UNION ALL
                SELECT retrieval_reference_number, created_at FROM payments_cardoperation
            ) message
            WHERE rrn <> '' GROUP BY rrn, substr(CAST(created_at AS text), 1, 4) HAVING count(*) > 1
        """,
    ),
    Invariant(
        name="trace_numbers_match_their_rrn",
        rule="The last six digits of an RRN of ours are its message's STAN. An acquirer with identifiers of its own has its RRN.",
        sql="""
            SELECT 'RRN ' || rrn || ', STAN ' || stan
            FROM (
                SELECT retrieval_reference_number AS rrn, system_trace_audit_number AS stan
                FROM payments_transaction payment WHERE acquirer_reference = ''
                UNION ALL
                SELECT retrieval_reference_number, system_trace_audit_number FROM payments_cardoperation operation
            ) message
            WHERE rrn <> '' AND (length(rrn) <> 12 OR substr(rrn, 7) <> stan)
        """,
        keys={"payments_transaction payment": "id", "payments_cardoperation operation": "id"},
    ),
)
