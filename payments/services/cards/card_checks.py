"""Card checks: ask the issuer whether a card is valid. No money moves and no event is sent."""

import secrets
from datetime import datetime
from typing import Any

from kit.api.replays import IdempotentResult
from kit.api.request_fingerprints import Fingerprint
from merchants.models import Business
from payments.models import Transaction
from payments.services.intents import card_fields, open_intent
from payments.services.rail_choices import acquirer_for
from payments.services.rail_orders import card_order
from payments.services.transitions import call_rail_if_new


def start(
    *, business: Business, request: dict[str, Any], fingerprint: Fingerprint, now: datetime
) -> IdempotentResult[Transaction]:
    """Check a card with its issuer. Generates a reference if the merchant gave none.

    :raises RailUnavailable: no acquirer is configured, or it is unavailable
    """
    acquirer = acquirer_for(business)
    card = request["source"]
    intent = open_intent(
        business=business,
        connector=acquirer.name,
        reference=request.get("reference") or f"chk_{secrets.token_hex(12)}",
        fingerprint=fingerprint,
        now=now,
        request_type=Transaction.RequestType.CARD_CHECK,
        amount=0,
        currency=request["currency"],
        metadata=request.get("metadata"),
        **card_fields(card),
    )
    return call_rail_if_new(intent, lambda new: acquirer.verify(card_order(new), card=card))
