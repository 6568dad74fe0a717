"""Card payments: authorised, and captured at once unless the merchant asks otherwise."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from merchants.models import Business
from payments.models import Transaction
from payments.rails import card_acquirer
from payments.rails.protocol import ThreeDSecure
from payments.services.intents import Intent, card_fields, open_intent
from payments.services.orders import card_order
from payments.services.settlement import Cause, ask


def start(*, business: Business, request: dict[str, Any], fingerprint: str, now: datetime) -> Intent:
    """Start a card payment: intent, acquirer, answer. A lost answer leaves it pending.

    :raises DuplicateReference: the reference belongs to a different request
    :raises RailUnavailable: no acquirer is configured
    """
    acquirer = card_acquirer()
    card = request["source"]
    customer = request.get("customer", {})
    three_ds = request.get("three_ds", ThreeDSecure())
    intent = open_intent(
        business=business,
        reference=request["reference"],
        fingerprint=fingerprint,
        now=now,
        request_type=Transaction.RequestType.PAYMENT,
        amount=request["amount"],
        currency=request["currency"],
        captures_at_once=request["capture"],
        challenge_preference=three_ds.challenge_preference if three_ds.enabled else "",
        narration=request.get("narration", ""),
        payment_ip=request.get("payment_ip"),
        redirect_url=request["redirect_url"],
        customer_name=customer.get("name", ""),
        customer_email=customer.get("email", ""),
        customer_reference=customer.get("reference", ""),
        **card_fields(card, now=now),
    )
    if intent.is_new:
        order = card_order(intent.transaction)
        return replace(
            intent,
            transaction=ask(
                intent.transaction, lambda: acquirer.authorise(order, card=card), cause=Cause.RAIL
            ),
        )
    return intent
