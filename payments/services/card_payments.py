"""Card payments: authorised, and captured at once unless the merchant asks otherwise."""

from datetime import datetime
from typing import Any

from merchants.models import Business
from payments.models import Transaction
from payments.rails import card_acquirer
from payments.rails.protocol import ThreeDSecure
from payments.services.intents import Intent, card_fields, open_intent, order_fields
from payments.services.orders import card_order
from payments.services.settlement import ask_if_new


def start(*, business: Business, request: dict[str, Any], fingerprint: str, now: datetime) -> Intent:
    """Start a card payment: intent, acquirer, answer. A lost answer leaves it pending.

    :raises DuplicateReference: the reference belongs to a different request
    :raises RailUnavailable: no acquirer is configured
    """
    acquirer = card_acquirer()
    card = request["source"]
    three_ds = request.get("three_ds", ThreeDSecure())
    intent = open_intent(
        business=business,
        fingerprint=fingerprint,
        now=now,
        request_type=Transaction.RequestType.PAYMENT,
        captures_at_once=request["capture"],
        challenge_preference=three_ds.challenge_preference if three_ds.enabled else "",
        redirect_url=request["redirect_url"],
        **order_fields(request),
        **card_fields(card, now=now),
    )
    return ask_if_new(intent, lambda new: acquirer.authorise(card_order(new), card=card))
