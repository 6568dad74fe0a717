"""Find our payments at Checkout.com, and what happened to them."""

from typing import Any
from uuid import UUID

from connectors.checkout.api.answers import payment_id
from connectors.checkout.api.client import CheckoutClient, NotFound
from connectors.checkout.api.references import reference_of
from kit.connectors.provider_client import Deadline
from payments.rails.protocol import AnswerLost

Document = dict[str, Any]

MOST_FOUND = 10  # payments of one reference; two are an alarm


def with_id(client: CheckoutClient, identifier: str, *, deadline: Deadline) -> Document:
    """Return a payment that exists.

    :raises AnswerLost: it isn't visible, which is possible in its first minute
    """
    try:
        found = client.get(f"/payments/{identifier}", deadline=deadline)
    except NotFound:
        raise AnswerLost from None
    if not isinstance(found, dict):
        raise AnswerLost
    return found


def of_order(client: CheckoutClient, order_id: UUID, *, deadline: Deadline) -> list[Document]:
    """Return the payments with our reference, newest first. A new payment may be missing for some time.

    :raises AnswerLost: there is no readable answer
    """
    path = f"/payments?reference={reference_of(order_id)}&limit={MOST_FOUND}"
    try:
        found = client.get(path, deadline=deadline)
    except NotFound:
        raise AnswerLost from None
    listed = found.get("data") if isinstance(found, dict) else None
    if not isinstance(listed, list) or not all(
        isinstance(each, dict) and payment_id(each) for each in listed
    ):
        raise AnswerLost
    return [each for each in listed if each.get("reference") == reference_of(order_id)]


def actions_of(client: CheckoutClient, payment: str, *, deadline: Deadline) -> list[Document]:
    """Return the actions of a payment, newest first. A payment that waits for its payer has none.

    :raises AnswerLost: there is no readable answer
    """
    try:
        found = client.get(f"/payments/{payment}/actions", deadline=deadline)
    except NotFound:
        return []
    if not isinstance(found, list):
        raise AnswerLost
    return [each for each in found if isinstance(each, dict)]
