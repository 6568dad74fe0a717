"""Card payments: authorised, and captured at once unless the merchant asks otherwise."""

from datetime import datetime
from typing import Any

from kit.api.replays import IdempotentResult
from kit.api.request_fingerprints import Fingerprint
from merchants.models import Business
from payments.models import Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import ThreeDSecure
from payments.services.intents import card_fields, open_intent, order_fields
from payments.services.link_uses import Attempt
from payments.services.rail_choices import acquirer_for
from payments.services.rail_orders import card_order
from payments.services.transitions import call_rail_if_new


def start(
    *,
    business: Business,
    request: dict[str, Any],
    fingerprint: Fingerprint,
    now: datetime,
    attempt: Attempt | None = None,
) -> IdempotentResult[Transaction]:
    """Start a card payment: store the intent, call the acquirer, apply its answer. Without an answer it stays pending.

    `attempt` is the attempt at a payment link that it is, if any.

    :raises AttemptNotBegun: the attempt can't begin; nothing was stored
    :raises RailUnavailable: no acquirer is available, or it lacks the requested 3-D Secure
    """
    acquirer = acquirer_for(business)
    card = request["source"]
    three_ds = request.get("three_ds", ThreeDSecure())
    if three_ds.enabled and not acquirer.has_three_d_secure:
        # Without it, the payment would lack the protection that the merchant requested.
        raise RailUnavailable("No connector with 3-D Secure is configured. Nothing was stored.")
    intent = open_intent(
        business=business,
        connector=acquirer.name,
        fingerprint=fingerprint,
        now=now,
        attempt=attempt,
        request_type=Transaction.RequestType.PAYMENT,
        captures_at_once=request["capture"],
        challenge_preference=three_ds.challenge_preference if three_ds.enabled else "",
        redirect_url=request["redirect_url"],
        **order_fields(request),
        **card_fields(card),
    )
    return call_rail_if_new(intent, lambda new: acquirer.authorise(card_order(new), card=card))
