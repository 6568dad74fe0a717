"""Invariants of payments that their acquirer charged after they failed, or a second time, and of the entries of the house about them."""

from ledger.invariants import Invariant
from payments.invariants.entry_sql import moved

_CHARGES = """
    SELECT watch.id, watch.amount, watch.returned_at, payment.currency
    FROM payments_watchedauthorisation watch JOIN payments_transaction payment ON payment.id = watch.transaction_id
    WHERE watch.amount IS NOT NULL
"""

INVARIANTS = (
    Invariant(
        name="charges_of_failed_payments_are_watched",
        rule="A watched payment is a card payment, and a failed one unless a second charge is looked for. A charge that was found is watched until it is given back.",
        sql="""
            SELECT 'transaction ' || watch.transaction_id
            FROM payments_watchedauthorisation watch LEFT JOIN payments_transaction payment
                ON payment.id = watch.transaction_id AND (payment.status = 'failed' OR watch.is_of_second_charge)
                AND payment.method = 'card' AND payment.request_type = 'payment'
            WHERE payment.id IS NULL OR watch.amount > payment.amount
                OR watch.found_at IS NOT NULL AND watch.returned_at IS NULL AND watch.next_look_at IS NULL
        """,
    ),
    Invariant(
        name="late_charges_are_booked",
        rule="A late charge that was found has an entry of its amount; no other entry of this kind exists.",
        sql=f"""
            SELECT 'watch ' || coalesce(charge.id, booked.cause)
            FROM ({_CHARGES}) charge FULL JOIN ({moved("late_charge_in", "late_charges")}) booked
                ON booked.cause = charge.id
            WHERE charge.id IS NULL OR booked.amount IS NULL OR booked.amount <> charge.amount
                OR booked.currency <> charge.currency
        """,
    ),
    Invariant(
        name="returned_late_charges_are_balanced",
        rule="A late charge has left the ledger in full exactly if the acquirer has given it back.",
        sql=f"""
            SELECT 'watch ' || coalesce(returned.id, booked.cause)
            FROM (SELECT * FROM ({_CHARGES}) charge WHERE returned_at IS NOT NULL) returned
                FULL JOIN ({moved("late_charge_out", "late_charges")}) booked ON booked.cause = returned.id
            WHERE returned.id IS NULL OR booked.amount IS NULL OR booked.amount <> -returned.amount
                OR booked.currency <> returned.currency
        """,
    ),
)
