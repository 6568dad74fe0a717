"""Card payments whose payer enters the card on the provider's page. No card number reaches us."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import structlog

from kit.api.request_fingerprints import Fingerprint
from merchants.models import Business
from payments.models import Transaction
from payments.rails.protocol import AnswerLost, HostedPages, RailAnswer
from payments.rules.outcomes import NOTHING_CHARGED
from payments.services.links.link_uses import Attempt
from payments.services.rails import blocked_acquirers
from payments.services.rails.rail_choices import acquirer_for, columns
from payments.services.rails.rail_orders import card_order
from payments.services.rails.rail_queries import rail_blocks
from payments.services.rails.required_capabilities import require_hosted_payment
from payments.services.transactions.intents import open_intent, order_fields, trace_fields
from payments.services.transactions.transitions import Cause, call_rail

log = structlog.get_logger("sluice.rails")

NO_FINGERPRINT = Fingerprint("")  # an attempt is never a repeated request


def start(*, business: Business, request: dict[str, Any], now: datetime, attempt: Attempt) -> Transaction:
    """Start an attempt at a payment link: store the intent, and have the provider open a page for it.

    The payment fails if there is no answer: the page was never shown, and it is watched in case that it exists.

    :raises AttemptNotBegun: the attempt can't begin; nothing was stored
    :raises NotSupported: the acquirer can never take this payment; nothing was stored
    :raises RailUnavailable: no acquirer is available, or it is blocked; nothing was stored
    """
    require_hosted_payment(business, request)
    acquirer = acquirer_for(business)
    rail_blocks.require_open(acquirer, currency=request["currency"], amount=request["amount"], now=now)
    intent = open_intent(
        business=business,
        **columns(acquirer),
        fingerprint=NO_FINGERPRINT,
        now=now,
        attempt=attempt,
        request_type=Transaction.RequestType.PAYMENT,
        method=Transaction.Method.CARD,
        challenge_preference=request["three_ds"].challenge_preference if request["three_ds"].enabled else "",
        redirect_url=request["redirect_url"],
        **order_fields(request),
        **trace_fields(),
    )
    order, pages = card_order(intent.resource), cast("HostedPages", acquirer)
    return call_rail(intent.resource, lambda: _opened(lambda: pages.open_page(order)), cause=Cause.RAIL)


def _opened(open_page: Callable[[], RailAnswer]) -> RailAnswer:
    try:
        return blocked_acquirers.answer_of(open_page)
    except AnswerLost:
        log.warning("page of a provider not opened")
        return RailAnswer(outcome=NOTHING_CHARGED, is_final=False)
