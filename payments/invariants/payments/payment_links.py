"""Invariants of payment links: their counted uses, their checkouts and their payments."""

from ledger.invariants import Invariant

# `pl_` and the 32 hexadecimal digits of the payment's id. SQLite stores ids as those digits.
_OWN_REFERENCE = "'pl_' || replace(CAST(payment.id AS text), '-', '')"

INVARIANTS = (
    Invariant(
        name="link_uses_are_counted",
        rule="A payment link counts its pending payments as held, and its successful ones as paid with their amounts.",
        sql="""
            SELECT 'payment link ' || link.id || ': ' || link.uses_held || ' held, ' || link.uses_paid || ' paid'
            FROM payments_paymentlink link LEFT JOIN (
                SELECT payment_link_id,
                    sum(CASE WHEN status = 'pending' THEN 1 ELSE 0 END) AS held,
                    sum(CASE WHEN status = 'success' THEN 1 ELSE 0 END) AS paid,
                    sum(CASE WHEN status = 'success' THEN amount ELSE 0 END) AS amount
                FROM payments_transaction WHERE payment_link_id IS NOT NULL GROUP BY payment_link_id
            ) counted ON counted.payment_link_id = link.id
            WHERE link.uses_held <> coalesce(counted.held, 0) OR link.uses_paid <> coalesce(counted.paid, 0)
                OR link.amount_paid <> coalesce(counted.amount, 0)
        """,
    ),
    Invariant(
        name="links_keep_their_limit",
        rule="The paid and held uses of a payment link are at most its limit.",
        sql="""
            SELECT 'payment link ' || id FROM payments_paymentlink
            WHERE max_uses IS NOT NULL AND uses_paid + uses_held > max_uses
        """,
    ),
    Invariant(
        name="link_payments_fit",
        rule=(
            "A payment of a link agrees with its checkout and link in business, currency and link, and its amount is the "
            "checkout's total: the link's amount times a quantity that it allows, or an amount within its range."
        ),
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment
                LEFT JOIN payments_checkout checkout ON checkout.id = payment.checkout_id
                LEFT JOIN payments_paymentlink link ON link.id = payment.payment_link_id
            WHERE payment.payment_link_id IS NOT NULL AND NOT coalesce(
                checkout.link_id = link.id AND payment.business_id = link.business_id
                AND payment.currency = link.currency AND checkout.currency = link.currency
                AND payment.amount = checkout.amount AND (
                    link.amount IS NOT NULL AND checkout.amount = link.amount * checkout.quantity
                        AND checkout.quantity <= link.quantity_max
                    OR link.amount IS NULL AND checkout.amount BETWEEN link.amount_min AND link.amount_max
                        AND checkout.quantity = 1
                ), FALSE)
        """,
        keys={"payments_transaction payment": "id"},
    ),
    Invariant(
        name="checkouts_pay_once",
        rule="A checkout has at most one payment that hasn't failed.",
        sql="""
            SELECT 'checkout ' || checkout_id FROM payments_transaction
            WHERE checkout_id IS NOT NULL AND status <> 'failed' GROUP BY checkout_id HAVING count(*) > 1
        """,
    ),
    Invariant(
        name="link_references_are_ours",
        rule="A payment has a payment link if and only if it has a checkout and its reference is `pl_` and its own id.",
        sql=f"""
            SELECT 'transaction ' || payment.id FROM payments_transaction payment
            WHERE (payment.payment_link_id IS NULL) <> (payment.checkout_id IS NULL)
                OR (payment.payment_link_id IS NOT NULL) <> (payment.reference = {_OWN_REFERENCE})
        """,
        keys={"payments_transaction payment": "id"},
    ),
)
