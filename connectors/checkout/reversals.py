"""Reverse an authorisation by steps: void what is reserved, refund what is captured, until nothing is left.

Checkout.com decides voids and refunds later, and a capture can overtake a void. So each call looks at what is left, orders at
most one step for each payment, and the caller calls again.
"""

from contextlib import suppress
from typing import Any
from uuid import UUID, uuid5

import structlog

from connectors.checkout.api.answers import APPROVED, CARD_VERIFIED, DECLINED, ENDED, payment_id
from connectors.checkout.api.client import CheckoutClient, Refused
from connectors.checkout.api.references import reference_of
from connectors.checkout.payments import actions_of
from kit.connectors.provider_client import Deadline
from payments.rails.protocol import AnswerLost

log = structlog.get_logger("sluice.checkout")

Document = dict[str, Any]

CALLS = {"Void": "voids", "Refund": "refunds"}
OVER = ENDED | {DECLINED, CARD_VERIFIED, "Refunded"}  # nothing is reserved, and what was captured is back


def is_over(payment: Document) -> bool:
    """Return whether nothing is captured or reserved, or can be later."""
    return str(payment.get("status")) in OVER


def take_steps(client: CheckoutClient, found: list[Document], *, of: UUID, deadline: Deadline) -> bool:
    """Order the next step for each of these payments, and return whether nothing is left of any. `of` is our order's id."""
    unfinished = [payment for payment in found if not is_over(payment)]
    for payment in unfinished:
        with suppress(AnswerLost):
            _take_step(client, payment, of=of, deadline=deadline)
    return not unfinished


def _take_step(client: CheckoutClient, payment: Document, *, of: UUID, deadline: Deadline) -> None:
    """Order the void or refund of what is left of a payment.

    A payment that waits for its payer has nothing to void yet, so it is left as it is.

    :raises AnswerLost: it is unknown what is left, or whether the step was accepted
    """
    if str(payment.get("status")) not in APPROVED:
        return
    kind, amount = _what_is_left(payment)
    path = f"/payments/{payment_id(payment)}"
    # A key answers for a day with the action that it was first used for, which may have been declined meanwhile.
    declined = [
        action
        for action in actions_of(client, payment_id(payment), deadline=deadline)
        if action.get("type") == kind and action.get("approved") is False
    ]
    step = uuid5(of, f"{kind} {len(declined)} of {payment_id(payment)}")
    order: Document = {"reference": reference_of(step)} | ({"amount": amount} if amount else {})
    try:
        client.post(f"{path}/{CALLS[kind]}", order, key=str(step), deadline=deadline)
    except Refused:  # such as a void that a capture has overtaken; the next call looks again
        log.warning("step of a reversal refused", id=str(of), payment=payment_id(payment), step=kind)


def _what_is_left(payment: Document) -> tuple[str, int | None]:
    """Return the next step and its amount in minor units, which a void doesn't have.

    Without balances, the status says it, and a refund is of everything.
    """
    balances = payment.get("balances")
    known = balances if isinstance(balances, dict) else {}
    to_void, to_refund = known.get("available_to_void"), known.get("available_to_refund")
    if type(to_void) is int and to_void > 0:
        return "Void", None
    if type(to_refund) is int and to_refund > 0:
        return "Refund", to_refund
    return ("Void", None) if payment.get("status") == "Authorized" else ("Refund", None)
