"""Hosted pages: Checkout.com takes the card on a page of its own, and the page says which payment counts.

A payer may try several cards on a page. Declined tries are normal; the page names the payment that was approved.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import structlog

from connectors.checkout.api import answers
from connectors.checkout.api.client import CheckoutClient, NotFound
from connectors.checkout.api.references import reference_of
from kit.connectors.provider_client import Deadline
from kit.text.display_names import identifier_text
from payments.rails.protocol import (
    ActionKind,
    AnswerLost,
    CardOrder,
    MaskedCard,
    PayerAction,
    RailAnswer,
)
from payments.rules import outcomes

log = structlog.get_logger("sluice.checkout")

Document = dict[str, Any]

OPEN, RECEIVED, EXPIRED = "Payment Pending", "Payment Received", "Expired"
_PAGE_ID = re.compile(r"hpp_[A-Za-z0-9_-]{1,60}", re.ASCII)
_NOT_CONFIRMED = replace(outcomes.AUTHENTICATION_FAILED, gateway_code="")  # no payment was tried


def is_page(reference: str) -> bool:
    """Return whether the identifier of an order is that of its page: no payment of it is known to be approved."""
    return _PAGE_ID.fullmatch(reference) is not None


def opened(order: CardOrder, document: Document) -> RailAnswer:
    """Return the redirect to a new page.

    It counts as repeated: the payer may pay twice in two tabs, so a second charge is looked for.

    :raises AnswerLost: the document isn't readable
    """
    links = document.get("_links")
    redirect = links.get("redirect") if isinstance(links, dict) else None
    url = redirect.get("href") if isinstance(redirect, dict) else None
    page = str(document.get("id"))
    if not is_page(page) or not isinstance(url, str) or _is_of_another(order, document):
        raise AnswerLost
    action = PayerAction(kind=ActionKind.REDIRECT, url=url)
    return RailAnswer(outcome=outcomes.PROCESSING, action=action, acquirer_reference=page, was_repeated=True)


def outcome_of(
    client: CheckoutClient, order: CardOrder, *, query: Callable[[CardOrder], RailAnswer], deadline: Deadline
) -> RailAnswer:
    """Return what became of the payment of an order's page. `query` looks at the payment that the order names.

    A failure isn't final while the page is open.

    :raises AnswerLost: there is no readable answer
    """
    page = _page(client, order, deadline)
    status, payment = str(page.get("status")), answers.payment_id({"id": page.get("payment_id")})
    if status not in {OPEN, RECEIVED, EXPIRED}:
        log.error("unknown status of a page", id=str(order.id), status=status[:40])
        return _waiting()
    if not payment:
        if status == RECEIVED:
            raise AnswerLost
        return RailAnswer(outcome=_NOT_CONFIRMED, is_final=status == EXPIRED)
    found = query(replace(order, acquirer_reference=payment))
    if status == RECEIVED or found.outcome.is_success or found.must_be_reversed:
        return found
    if found.outcome.is_pending:
        return _waiting()  # the payer is confirming it
    return replace(found, acquirer_reference="", is_final=status == EXPIRED)


def card_of(payment: Document) -> MaskedCard | None:
    """Return the card of a payment, if all of it has the published form."""
    source = payment.get("source")
    card = source if isinstance(source, dict) else {}
    month = str(card.get("expiry_month")).zfill(2)
    return MaskedCard.read(str(card.get("bin"))[:6], card.get("last4"), month, card.get("expiry_year"))


def _page(client: CheckoutClient, order: CardOrder, deadline: Deadline) -> Document:
    try:
        found = client.get(f"/hosted-payments/{order.acquirer_reference}", deadline=deadline)
    except NotFound:
        raise AnswerLost from None
    if not isinstance(found, dict) or _is_of_another(order, found):
        raise AnswerLost
    return found


def _is_of_another(order: CardOrder, page: Document) -> bool:
    """Return whether a page isn't that of our order, as far as it says so."""
    ours = {"reference": reference_of(order.id), "amount": order.amount, "currency": order.currency}
    differs = [name for name, value in ours.items() if page.get(name, value) != value]
    if differs:
        log.error(
            "another page than ours", id=str(order.id), found=identifier_text(page.get("id"), length=64)
        )
    return bool(differs)


def _waiting() -> RailAnswer:
    return RailAnswer(outcome=outcomes.PROCESSING)
