"""Card checks: ask the issuer whether a card is valid. No money moves and no event is sent."""

import secrets
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from kit.api.replays import IdempotentResult
from kit.api.request_fingerprints import Fingerprint
from merchants.models import Business
from payments.models import Transaction
from payments.services.rails import blocked_acquirers
from payments.services.rails.rail_choices import acquirer_for, columns
from payments.services.rails.rail_orders import card_order
from payments.services.rails.rail_queries import rail_blocks
from payments.services.rails.required_capabilities import require_card_check
from payments.services.transactions.intents import card_fields, open_intent
from payments.services.transactions.transitions import Cause, call_rail


def start(
    *, business: Business, request: dict[str, Any], fingerprint: Fingerprint, now: datetime
) -> IdempotentResult[Transaction]:
    """Check a card with its issuer. Generates a reference if the merchant gave none.

    If the issuer requires 3-D Secure, the check is pending. Without a `redirect_url` it fails.

    :raises NotSupported: the acquirer can never do what the request asks for; nothing was stored
    :raises RailUnavailable: no acquirer is configured, or it is unavailable or blocked
    """
    require_card_check(business, request)
    acquirer = acquirer_for(business)
    rail_blocks.require_open(acquirer, currency=request["currency"], amount=0, now=now)
    card = request["source"]
    intent = open_intent(
        business=business,
        **columns(acquirer),
        reference=request.get("reference") or f"chk_{secrets.token_hex(12)}",
        fingerprint=fingerprint,
        now=now,
        request_type=Transaction.RequestType.CARD_CHECK,
        amount=0,
        currency=request["currency"],
        metadata=request.get("metadata"),
        redirect_url=request.get("redirect_url", ""),
        **card_fields(card),
    )
    if intent.is_replay:
        return intent
    verify = partial(acquirer.verify, card_order(intent.resource), card=card)
    decide = partial(blocked_acquirers.answer_of, verify)
    return replace(intent, resource=call_rail(intent.resource, decide, cause=Cause.RAIL))
