"""What we know about a disputed payment and send with the evidence: facts for the cardholder's bank, no secrets."""

from collections.abc import Callable, Collection
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Upper

from disputes.models import Dispute
from kit.money.money import money
from kit.time.timestamps import timestamp
from payments.models import CardOperation, Transaction
from webhooks.models import Delivery

Facts = dict[str, Any]
MOST_PAYMENTS = 20  # of the customer's other ones


def packet_of(dispute: Dispute) -> dict[str, Any]:
    """Return the parts of the packet that the business didn't leave out and that its payment has."""
    return packet_without((dispute.answer or {}).get("submit", {}).get("leave_out", []), dispute.transaction)


def packet_without(left_out: Collection[str], payment: Transaction) -> dict[str, Any]:
    """Return the parts of the packet that a payment has, less those that are left out."""
    parts = {name: part(payment) for name, part in PARTS.items() if name not in left_out}
    return {name: facts for name, facts in parts.items() if facts}


def _payment(payment: Transaction) -> Facts:
    return {
        "reference": payment.reference,
        "amount": payment.amount_captured,
        "currency": payment.currency,
        "paid_at": timestamp(payment.finished_at or payment.created_at),
        "card": f"{payment.card_brand} {payment.card_bin}******{payment.card_last4}",
        "retrieval_reference_number": payment.retrieval_reference_number,
        "authorization_code": payment.authorization_code,
        "customer_name": payment.customer_name,
        "customer_email": payment.customer_email,
        "payer_address": payment.payment_ip,
        "narration": payment.narration,
    }


def _three_d_secure(payment: Transaction) -> Facts:
    challenge = getattr(payment, "challenge", None)
    if challenge is None or challenge.passed_at is None:
        return {}
    return {"passed_at": timestamp(challenge.passed_at)}


def _receipt(payment: Transaction) -> Facts:
    """Return what the receipt says, in the words of the payer."""
    link = payment.payment_link
    return {
        "merchant": payment.business.name,
        "description": link.title if link else payment.narration,
        "amount": money(payment.amount_captured, payment.currency),
        "paid_at": timestamp(payment.finished_at or payment.created_at),
        "reference": payment.reference,
    }


def _payment_link(payment: Transaction) -> Facts:
    if payment.checkout is None:
        return {}
    checkout = payment.checkout
    return {
        "title": checkout.link.title,
        "quantity": checkout.quantity,
        "name": checkout.name,
        "answers": checkout.answers,
    }


def _refunds(payment: Transaction) -> list[Facts]:
    refunds = payment.operations.filter(kind=CardOperation.Kind.REFUND).order_by("id")
    return [
        {
            "reference": refund.reference,
            "amount": refund.amount,
            "status": refund.status,
            "created_at": timestamp(refund.created_at),
        }
        for refund in refunds
    ]


def _webhooks(payment: Transaction) -> list[Facts]:
    """Return the events of the payment that the merchant's server has accepted: the order was known to it."""
    delivered = Delivery.objects.filter(subject=payment.pk, state=Delivery.State.DELIVERED).defer("body")
    return [
        {"event": each.event, "delivered_at": timestamp(each.delivered_at)}
        for each in delivered
        if each.delivered_at
    ]


def _other_payments(payment: Transaction) -> list[Facts]:
    """Return what the customer had paid before, newest first."""
    others = _of_customer(payment).filter(
        request_type=Transaction.RequestType.PAYMENT, status=Transaction.Status.SUCCESS
    )
    newest = others.filter(pk__lt=payment.pk).order_by("-id")[:MOST_PAYMENTS]
    return [
        {
            "reference": each.reference,
            "amount": each.amount_collected,
            "currency": each.currency,
            "paid_at": timestamp(each.finished_at or each.created_at),
            "is_same_card": each.card_bin == payment.card_bin and each.card_last4 == payment.card_last4,
            "is_disputed": bool(each.disputes_count),
        }
        for each in newest
    ]


def _of_customer(payment: Transaction) -> QuerySet[Transaction]:
    """Return the payments with the customer's email address, or with the same card if there is none."""
    mine: QuerySet[Transaction] = Transaction.objects.of(payment.business)
    if payment.customer_email:
        return mine.alias(email=Upper("customer_email")).filter(email=payment.customer_email.upper())
    return mine.filter(card_bin=payment.card_bin, card_last4=payment.card_last4).exclude(card_last4="")


PARTS: dict[str, Callable[[Transaction], Any]] = {
    "payment": _payment,
    "three_d_secure": _three_d_secure,
    "receipt": _receipt,
    "payment_link": _payment_link,
    "webhooks": _webhooks,
    "refunds": _refunds,
    "other_payments": _other_payments,
}
