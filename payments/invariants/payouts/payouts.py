"""Invariants between payouts, their returns and the ledger."""

from ledger.invariants import Invariant
from payments.invariants.entry_sql import moved, without_cause

INVARIANTS = (
    Invariant(
        name="payouts_are_debited",
        rule="A pending or successful payout was debited from the wallet with its fee and tax.",
        sql=f"""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment
                LEFT JOIN ({moved("payout_accepted", "wallet")}) booked ON booked.cause = payment.id
                LEFT JOIN ({moved("tax", "wallet")}) taxed ON taxed.cause = payment.id
            WHERE payment.request_type = 'payout' AND (
                payment.status = 'success' AND (
                    coalesce(-booked.amount, 0) <> payment.amount + payment.fee
                    OR coalesce(-taxed.amount, 0) <> payment.fee_tax + payment.stamp_duty)
                OR payment.status = 'pending' AND coalesce(-booked.amount, 0) < payment.amount)
        """,
        keys={"payments_transaction payment": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="successful_payouts_are_booked",
        rule="A successful payout has an entry of the amount that the bank sent; other payouts have none.",
        sql=f"""
            SELECT 'payout ' || coalesce(payout.id, booked.cause)
            FROM (
                SELECT * FROM payments_transaction payment WHERE request_type = 'payout' AND status = 'success'
            ) payout FULL JOIN ({moved("payout_sent", "bank_clearing")}) booked ON booked.cause = payout.id
            WHERE payout.id IS NULL OR booked.amount IS NULL OR booked.amount <> payout.amount
                OR booked.currency <> payout.currency OR booked.business_id <> payout.business_id
        """,
        keys={"payments_transaction payment": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="failed_payouts_are_credited_back",
        rule="A failed payout leaves the money in flight in full, for the wallet or unapplied money; other payouts do not.",
        sql=f"""
            SELECT 'payout ' || coalesce(payout.id, back.cause)
            FROM (
                SELECT payment.id, taken.amount + coalesce(taxed.amount, 0) AS amount FROM payments_transaction payment
                    JOIN ({moved("payout_accepted", "payouts_in_flight")}) taken ON taken.cause = payment.id
                    LEFT JOIN ({moved("tax", "payouts_in_flight")}) taxed ON taxed.cause = payment.id
                WHERE request_type = 'payout' AND status = 'failed'
            ) payout FULL JOIN ({moved("payout_failed", "payouts_in_flight")}) back ON back.cause = payout.id
            WHERE payout.id IS NULL OR back.amount IS NULL OR back.amount <> -payout.amount
        """,
        keys={"payments_transaction payment": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="payouts_without_debit_have_failed",
        rule="A payout that was not debited from a wallet has failed with 20051.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment LEFT JOIN ledger_entry entry
                ON entry.kind = 'payout_accepted' AND entry.cause = payment.id
            WHERE request_type = 'payout' AND entry.id IS NULL
                AND NOT (status = 'failed' AND response_code = '20051')
        """,
        keys={"payments_transaction payment": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="payout_debits_have_payouts",
        rule="A debit of a wallet for a payout belongs to a payout.",
        sql=without_cause(
            "payout_accepted",
            table="payments_transaction",
            alias="payment",
            condition="payment.request_type = 'payout'",
        ),
        keys={"payments_transaction payment": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="money_in_flight_matches_pending_payouts",
        rule="The money in flight is the sum of the debits of pending payouts.",
        sql=f"""
            SELECT 'account ' || account.id || ': ' || account.balance || ', pending ' || coalesce(open.amount, 0)
            FROM ledger_account account LEFT JOIN (
                SELECT taken.business_id, taken.currency, sum(taken.amount) AS amount
                FROM ({moved("payout_accepted", "payouts_in_flight")}
                    UNION ALL {moved("tax", "payouts_in_flight")}) taken
                    JOIN payments_transaction payment ON payment.id = taken.cause
                WHERE payment.status = 'pending' GROUP BY taken.business_id, taken.currency
            ) open ON open.business_id = account.business_id AND open.currency = account.currency
            WHERE account.kind = 'payouts_in_flight' AND account.balance <> coalesce(open.amount, 0)
        """,
    ),
    Invariant(
        name="reversals_are_booked",
        rule="A return that reversed a successful payout has an entry of its amount; no other entry of this kind exists.",
        sql=f"""
            SELECT 'payout return ' || coalesce(returned.id, booked.cause)
            FROM (
                SELECT returned.id, returned.amount, payment.business_id, payment.currency
                FROM payments_payoutreturn returned
                    JOIN payments_transaction payment ON payment.id = returned.transaction_id
                        AND payment.request_type = 'payout' AND payment.status = 'success'
                WHERE returned.applied = 'reversed'
            ) returned FULL JOIN ({moved("payout_reversed", "bank_clearing")}) booked ON booked.cause = returned.id
            WHERE returned.id IS NULL OR booked.amount IS NULL OR booked.amount <> -returned.amount
                OR booked.currency <> returned.currency OR booked.business_id <> returned.business_id
        """,
    ),
    Invariant(
        name="returned_amounts_are_sums",
        rule="The returned amount of a payout is the sum of its returns, and at most its amount.",
        sql="""
            SELECT 'transaction ' || coalesce(payment.id, returned.transaction_id)
            FROM (
                SELECT transaction_id, sum(amount) AS amount FROM payments_payoutreturn part
                WHERE applied = 'reversed' GROUP BY transaction_id
            ) returned FULL JOIN (SELECT * FROM payments_transaction paid WHERE amount_returned <> 0) payment
                ON payment.id = returned.transaction_id
            WHERE payment.id IS NULL OR returned.amount IS NULL
                OR payment.amount_returned <> returned.amount OR payment.amount_returned > payment.amount
        """,
        keys={"payments_transaction paid": "id", "payments_payoutreturn part": "transaction_id"},
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
)
