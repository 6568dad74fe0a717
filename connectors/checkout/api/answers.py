"""What Checkout.com's documents of a payment and of its actions say.

Success is `approved: true` with a known status, never a status of HTTP or an authorisation code: a decline is answered with
201 and may carry one. What is unknown or contradicts our order decides nothing.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import structlog

from connectors.checkout.api import codes
from connectors.checkout.api.references import reference_of
from kit.text.display_names import identifier_text
from kit.time.timestamps import parsed_moment
from payments.rails.protocol import (
    ActionKind,
    AnswerLost,
    CardOrder,
    OperationOrder,
    PayerAction,
    RailAnswer,
)
from payments.rules import outcomes
from payments.rules.outcomes import Outcome

log = structlog.get_logger("sluice.checkout")

Document = dict[str, Any]

PENDING, DECLINED, AUTHORIZED = "Pending", "Declined", "Authorized"
CARD_VERIFIED = "Card Verified"
APPROVED = frozenset(
    {AUTHORIZED, CARD_VERIFIED, "Captured", "Partially Captured", "Partially Refunded", "Refunded"}
)
# Nothing is reserved or charged any more.
ENDED = frozenset({"Voided", "Canceled", "Expired"})
AUTHORISATIONS = frozenset({"Authorization", "Card Verification"})  # types of actions
ACTION_OF_OPERATION = {"capture": "Capture", "void": "Void", "refund": "Refund"}

LONGEST_LINK = 2048
_PAYMENT_ID = re.compile(r"pay_\w{1,60}", re.ASCII)
_ACTION_ID = re.compile(r"act_\w{1,60}", re.ASCII)
_AUTHENTICATED = frozenset({"Y", "A"})  # also when it was only attempted


def of_payment(
    order: CardOrder, document: Document, *, actions: Callable[[], list[Document]] | None = None
) -> RailAnswer:
    """Return what a payment or card check says about our order. Pending if it says nothing definite.

    `actions` gets the payment's actions. Only they have the codes of a queried payment.

    :raises AnswerLost: the payment is not ours, or it contradicts itself or our order
    """
    _require_ours(order, document)
    status, approved = _text(document, "status", length=40), document.get("approved")
    if status == PENDING:
        return _pending(order, document)
    if status in ENDED:
        return _answer(order, document, document, _FAILED)
    if status == DECLINED and approved is not True:
        return _declined(order, document, _decision(document, actions))
    if status in APPROVED and approved is True:
        return _approved(order, document, _decision(document, actions))
    log.error("unknown state of a payment", id=str(order.id), payment=payment_id(document), status=status)
    return _contradictory(order, document)


def payment_id(document: Document) -> str:
    """Return a payment's id, or "" if it has none of the published form. It becomes a part of addresses."""
    given = document.get("id")
    return given if isinstance(given, str) and _PAYMENT_ID.fullmatch(given) else ""


def accepted(document: Document) -> RailAnswer:
    """Return the answer of a capture, void or refund that was accepted and is decided later."""
    given = document.get("action_id")
    action = given if isinstance(given, str) and _ACTION_ID.fullmatch(given) else ""
    return RailAnswer(outcome=outcomes.PROCESSING, acquirer_reference=action)


def of_operation(operation: OperationOrder, actions: list[Document]) -> RailAnswer | None:
    """Return the outcome of a capture, void or refund of ours, or None if no action is it.

    A request that arrived late has an action beside that of its repeat. It is declined only if both are.
    """
    several = [action for action in actions if _is_of(operation, action)]
    if not several:
        return None
    found = min(several, key=_by_approval)
    if [each.get("approved") for each in several].count(True) > 1:  # a refund can't be taken back
        log.error("operation carried out twice", id=str(operation.id), kind=operation.kind)
    amount, approved = found.get("amount"), found.get("approved")
    if approved is True and operation.kind != "void" and amount != operation.amount:
        log.error("operation with another amount", id=str(operation.id), ours=operation.amount)
        raise AnswerLost
    processing = _part(found, "processing")
    return RailAnswer(
        outcome=_outcome_of_operation(approved, _code(found)),
        acquirer_reference=accepted({"action_id": found.get("id")}).acquirer_reference,
        acquirer_transaction_id=_text(processing, "acquirer_transaction_id", length=64),
    )


def _by_approval(action: Document) -> tuple[bool, bool]:
    """Sort actions that are approved first, and declined ones last."""
    return action.get("approved") is not True, action.get("approved") is False


def is_captured_after(moment: datetime, actions: list[Document]) -> bool:
    """Return whether the payment was captured after a time, so that a refund ordered then was refused."""
    captures = (parsed_moment(each.get("processed_on")) for each in actions if each.get("type") == "Capture")
    return any(at is not None and at > moment for at in captures)


def _outcome_of_operation(approved: object, code: str) -> Outcome:
    """Return the outcome of an action. It is pending until the action says whether it was approved."""
    if approved is True:
        return codes.approved(code)
    return codes.outcome_of(code) if approved is False else outcomes.PROCESSING


def _is_of(operation: OperationOrder, action: Document) -> bool:
    if action.get("type") != ACTION_OF_OPERATION[operation.kind]:
        return False
    if operation.acquirer_reference and action.get("id") == operation.acquirer_reference:
        return True
    return action.get("reference") == reference_of(operation.id)


def _require_ours(order: CardOrder, document: Document) -> None:
    """Check that a payment is that of our order.

    An idempotency key answers with what it was first used for, so an answer to our own request is checked, too.

    :raises AnswerLost: it is another one
    """
    expected = {"reference": reference_of(order.id), "currency": order.currency}
    if not payment_id(document) or any(document.get(name, ours) != ours for name, ours in expected.items()):
        log.error("another payment than ours", id=str(order.id), found=payment_id(document))
        raise AnswerLost


def _unknown(document: Document) -> RailAnswer:
    return RailAnswer(outcome=outcomes.PROCESSING, acquirer_reference=payment_id(document))


def _contradictory(order: CardOrder, document: Document) -> RailAnswer:
    """Return an unknown outcome, so that the payment's id is stored. It may be charged.

    :raises AnswerLost: the id is stored. The payment must not fail like one that still waits for its payer.
    """
    if order.acquirer_reference:
        raise AnswerLost
    return _unknown(document)


def _pending(order: CardOrder, document: Document) -> RailAnswer:
    """Return that the payer must act first. Once we have stored the payment's id, the payer has been sent there."""
    link = _part(_part(document, "_links"), "redirect").get("href")
    if order.acquirer_reference or not isinstance(link, str) or not _is_address(link):
        return _contradictory(order, document) if document.get("approved") is True else _unknown(document)
    return replace(_unknown(document), action=PayerAction(kind=ActionKind.REDIRECT, url=link))


def _is_address(link: str) -> bool:
    try:
        parts = urlsplit(link)
    except ValueError:
        return False
    return parts.scheme in {"https", "http"} and bool(parts.hostname) and len(link) <= LONGEST_LINK


def _decision(document: Document, actions: Callable[[], list[Document]] | None) -> Document:
    """Return what has the codes of an authorisation or card check: the answer itself, or the newest such action."""
    if actions is None:
        return document
    return next((each for each in actions() if str(each.get("type")) in AUTHORISATIONS), document)


def _approved(order: CardOrder, document: Document, decision: Document) -> RailAnswer:
    amount, code = _approved_amount(document, decision), _code(decision)
    if 0 < amount < order.amount or code == codes.PARTLY_APPROVED:
        return replace(_unknown(document), outcome=outcomes.PARTLY_APPROVED, must_be_reversed=True)
    if amount != order.amount:
        log.error("approved with another amount", id=str(order.id), payment=payment_id(document))
        if amount > order.amount:  # it decides nothing, but is given back if the payment has failed
            return replace(_unknown(document), must_be_reversed=True)
        return _contradictory(order, document)
    _note_downgrade(order, document)
    return _answer(order, document, decision, codes.approved(code))


def _approved_amount(document: Document, decision: Document) -> int:
    """Return the amount that was approved, in minor units, or -1 if it is unknown. A card check may have none.

    A payment that is queried may show the amount requested; its balances and its action have what was authorised.
    """
    is_check = document.get("status") == CARD_VERIFIED
    given = (
        document.get("amount", 0 if is_check else None),
        _part(document, "balances").get("total_authorized"),
        decision.get("amount"),
    )
    return min((each for each in given if type(each) is int), default=-1)


def _note_downgrade(order: CardOrder, document: Document) -> None:
    """Log an approval without the 3-D Secure that was requested. Our requests exclude it."""
    three_ds = _part(document, "3ds")
    is_weaker = three_ds.get("downgraded") is True or three_ds.get("enrolled", "Y") != "Y"
    if order.three_ds.enabled and is_weaker:
        log.error("approved without 3-D Secure", id=str(order.id), payment=payment_id(document))


def _declined(order: CardOrder, document: Document, decision: Document) -> RailAnswer:
    code = _code(decision)
    if not code and _has_failed_authentication(document):
        return _answer(order, document, decision, _NOT_AUTHENTICATED)
    if codes.is_misconfiguration(code):
        log.error("declined because of our account at Checkout.com", id=str(order.id), code=code)
    recommendation = _text(_part(decision, "processing"), "recommendation_code", length=2)
    return _answer(order, document, decision, codes.outcome_of(code, recommendation=recommendation))


def _has_failed_authentication(document: Document) -> bool:
    """Return whether 3-D Secure was tried and failed, so that the issuer was never asked to authorise."""
    response = _part(document, "3ds").get("authentication_response")
    return response is not None and str(response) not in _AUTHENTICATED


def _answer(order: CardOrder, document: Document, decision: Document, outcome: Outcome) -> RailAnswer:
    """Return an outcome with what else the payment and its decision say. A decline shows no authorisation code."""
    processing, is_success = _part(decision, "processing"), outcome.is_success
    return RailAnswer(
        outcome=outcome,
        acquirer_reference=payment_id(document),
        authorization_code=_text(decision, "auth_code", length=6) if is_success else "",
        acquirer_transaction_id=_text(processing, "acquirer_transaction_id", length=64),
        retrieval_reference_number=_text(processing, "retrieval_reference_number", length=12),
        merchant_descriptor=order.descriptor if is_success else "",
        expires_at=parsed_moment(document.get("expires_on")) if is_success else None,
    )


_FAILED = codes.outcome_of("")
# Without a code of theirs.
_NOT_AUTHENTICATED = replace(outcomes.AUTHENTICATION_FAILED, gateway_code="")


def _code(document: Document) -> str:
    return _text(document, "response_code", length=codes.LONGEST_CODE)


def _text(document: Document, name: str, *, length: int) -> str:
    return identifier_text(document.get(name), length=length)


def _part(document: Document, name: str) -> Document:
    found = document.get(name)
    return found if isinstance(found, dict) else {}
