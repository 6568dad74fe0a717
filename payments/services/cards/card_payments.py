"""Card payments: authorised, and captured at once unless the merchant asks otherwise."""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from kit.api.replays import IdempotentResult
from kit.api.request_fingerprints import Fingerprint
from merchants.models import Business
from payments.models import Transaction
from payments.rails.protocol import ThreeDSecure
from payments.services.links.link_uses import Attempt
from payments.services.rails import blocked_acquirers
from payments.services.rails.rail_choices import acquirer_for, columns
from payments.services.rails.rail_orders import card_order
from payments.services.rails.rail_queries import rail_blocks
from payments.services.rails.required_capabilities import require_card_payment
from payments.services.transactions.intents import card_fields, open_intent, order_fields
from payments.services.transactions.transitions import Cause, call_rail


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
    :raises NotSupported: the acquirer can never do what the request asks for; nothing was stored
    :raises RailUnavailable: no acquirer is available, or it is blocked; nothing was stored
    """
    require_card_payment(business, request)
    acquirer = acquirer_for(business)
    rail_blocks.require_open(acquirer, currency=request["currency"], amount=request["amount"], now=now)
    card = request["source"]
    three_ds = request.get("three_ds", ThreeDSecure())
    intent = open_intent(
        business=business,
        **columns(acquirer),
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
    if intent.is_replay:
        return intent
    authorise = partial(acquirer.authorise, card_order(intent.resource), card=card)
    decide = partial(blocked_acquirers.answer_of, authorise)
    return replace(intent, resource=call_rail(intent.resource, decide, cause=Cause.RAIL))
