"""Refunds at Paystack: queued, decided later, and without a reference of ours.

The note to the merchant holds our id instead, so a refund whose answer was lost is found by it. Only one refund of a
transaction is open at a time: another one that isn't sent yet waits for its end.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from connectors.paystack.api import bank_codes, codes
from connectors.paystack.api.client import PaystackClient, Refused
from kit.connectors.provider_client import Deadline
from kit.text.display_names import identifier_text
from payments.rails.protocol import AnswerLost, NotReceived, OperationOrder, RailAnswer
from payments.rules import outcomes

log = structlog.get_logger("sluice.paystack")

Document = dict[str, Any]

PROCESSED, FAILED = "processed", "failed"
NEEDS_ATTENTION = frozenset({"needs-attention", "needs_attention"})
ASKS_FOR_ACCOUNT = "Paystack needs the payer's bank account. Staff must enter it."
REFUSES_ACCOUNT = "Paystack refuses the account that was entered. Staff must enter another one."
OPEN = frozenset({"pending", "processing"}) | NEEDS_ATTENTION
RESEND_AFTER = timedelta(seconds=60)  # while a new refund may not be listed
CLOCK_DIFFERENCE = timedelta(minutes=2)  # between theirs and ours
MOST_LISTED = 100


def send(
    client: PaystackClient,
    reference: str,
    operation: OperationOrder,
    *,
    transaction_id: Callable[[], str],
    until: Deadline,
) -> RailAnswer:
    """Refund a part of the transaction with our reference. Pending without their id: it isn't sent yet, and will be.

    `transaction_id` returns the number that Paystack gave the transaction. It is needed after a refusal only.

    :raises RailBlocked: Paystack refuses our account
    :raises AnswerLost: the refund may or may not have been queued
    """
    if operation.must_wait:
        return RailAnswer(outcome=outcomes.PROCESSING)
    document = {"transaction": reference, "amount": operation.amount, "merchant_note": operation.id.hex}
    try:
        answer = client.post("/refund", document, until=until)
    except Refused as refused:
        if _is_sent_later(operation, refused):
            return RailAnswer(outcome=outcomes.PROCESSING)
        if not refused.is_definite:
            raise AnswerLost from None
    else:
        made = _answer(operation, client.own(answer.data))
        if not made.outcome.is_failure:
            return made
    # Nothing says that this is the answer to the first request: a network may deliver one twice.
    listed = of_transaction(client, transaction_id(), until=until)
    return _found(operation, listed) or RailAnswer(outcome=outcomes.NOTHING_CHARGED)


def query(
    client: PaystackClient, transaction_id: str, operation: OperationOrder, *, until: Deadline
) -> RailAnswer:
    """Return the outcome of a refund by their id, else by our note.

    :raises NotReceived: Paystack doesn't have it, so it can be sent again
    :raises AnswerLost: there is no readable answer, or it may be one of which nothing says that it is ours
    """
    if operation.acquirer_reference:
        path = f"/refund/{operation.acquirer_reference}"
        try:
            found = client.get(path, endpoint="/refund/{id}", until=until).data
        except Refused:
            raise AnswerLost from None
        answer = _answer(operation, client.own(found))
        if not answer.outcome.is_failure or not transaction_id:
            return answer
        # A request that was delivered twice has made two, of which the other one may be paid.
        return _found(operation, of_transaction(client, transaction_id, until=until)) or answer
    listed = of_transaction(client, transaction_id, until=until)
    has_ours = any(_is_ours(operation, each) for each in listed)
    if not has_ours and (operation.must_wait or any(is_open(each) for each in listed)):
        return RailAnswer(outcome=outcomes.PROCESSING)
    found = _found(operation, listed)
    if found is None:
        raise NotReceived(resend_after=RESEND_AFTER)
    return found


def give_account(
    client: PaystackClient,
    operation: OperationOrder,
    *,
    currency: str,
    account_number: str,
    nip_code: str,
    until: Deadline,
) -> RailAnswer:
    """Name the payer's account for a refund that needs attention. In any other state Paystack refuses it.

    :raises RailBlocked: Paystack refuses our own account
    :raises AnswerLost: it may or may not have taken the payer's account, or the list of banks can't be read
    """
    number = operation.acquirer_reference
    banks = bank_codes.read(client, until=until)
    bank_id = banks.numbers.get(banks.find(nip_code), "")
    account = {"currency": currency, "account_number": account_number, "bank_id": bank_id}
    endpoint = "/refund/retry_with_customer_details"
    try:
        if bank_id:
            document = {"refund_account_details": account}
            answer = client.post(f"{endpoint}/{number}", document, endpoint=f"{endpoint}/{{id}}", until=until)
            return _answer(operation, client.own(answer.data))
    except Refused as refused:
        log.warning("Paystack refuses a payer's account", id=str(operation.id), code=refused.code)
    found = query(client, "", operation, until=until)
    return replace(found, attention=REFUSES_ACCOUNT) if found.attention else found


def of_transaction(client: PaystackClient, transaction_id: str, *, until: Deadline) -> list[Document]:
    """Return the refunds of a transaction, by the number that Paystack gave it. Its reference finds none.

    :raises AnswerLost: there is no readable answer
    """
    asked = {"transaction": transaction_id, "perPage": str(MOST_LISTED)}
    try:
        found = client.get("/refund", query=asked, until=until).data
    except Refused:
        raise AnswerLost from None
    if not isinstance(found, list):
        raise AnswerLost
    return [each for each in map(client.own, found) if _transaction_of(each) in {"", transaction_id}]


def is_open(refund: Document) -> bool:
    return str(refund.get("status")) in OPEN


def _answer(operation: OperationOrder, refund: Document) -> RailAnswer:
    """Return what a refund's status means.

    :raises AnswerLost: its amount isn't ours
    """
    number = identifier_text(refund.get("id"), length=64)
    if refund.get("amount") != operation.amount:
        log.error("a refund at Paystack differs from ours", id=str(operation.id), refund=number)
        raise AnswerLost
    status = str(refund.get("status"))
    if status == PROCESSED:
        return RailAnswer(
            outcome=outcomes.COMPLETED, acquirer_reference=number, acquirer_transaction_id=number
        )
    if status == FAILED:
        return RailAnswer(outcome=outcomes.NOTHING_CHARGED, acquirer_reference=number)
    if status in NEEDS_ATTENTION:
        log.error("refund needs attention: Paystack asks for the payer's account", id=str(operation.id))
    attention = ASKS_FOR_ACCOUNT if status in NEEDS_ATTENTION else ""
    return RailAnswer(outcome=outcomes.PROCESSING, acquirer_reference=number, attention=attention)


def _is_sent_later(operation: OperationOrder, refused: Refused) -> bool:
    """Return whether a refusal is about another refund or our balance, so that the refund is sent again."""
    log.warning("Paystack refuses a refund", id=str(operation.id), code=refused.code, message=refused.message)
    return codes.is_low_balance(refused.code, refused.message) or codes.is_open_refund(refused.message)


def _found(operation: OperationOrder, listed: list[Document]) -> RailAnswer | None:
    """Return the outcome of our refund among those of its transaction, or None if it isn't there.

    :raises AnswerLost: one may be it, but nothing says that it is ours
    """
    ours = [each for each in listed if _is_ours(operation, each)]
    if sum(each.get("status") != FAILED for each in ours) > 1:
        log.error("refund paid twice", id=str(operation.id), refunds=[each.get("id") for each in ours])
    if ours:
        return _answer(operation, min(ours, key=lambda each: each.get("status") == FAILED))
    if any(_may_be(operation, each) for each in listed):
        log.error("a refund of this amount has no note of ours: compare it at Paystack", id=str(operation.id))
        raise AnswerLost
    return None


def _is_ours(operation: OperationOrder, refund: Document) -> bool:
    return refund.get("merchant_note") == operation.id.hex


def _may_be(operation: OperationOrder, refund: Document) -> bool:
    """Return whether a refund may be ours although it has no note of ours: the note may have been lost there."""
    is_after = _moment(refund) is None or _moment(refund) >= operation.created_at - CLOCK_DIFFERENCE  # type: ignore[operator]
    has_note = _is_id(refund.get("merchant_note"))
    return (
        is_after
        and not has_note
        and refund.get("amount") == operation.amount
        and refund.get("status") != FAILED
    )


def _is_id(note: object) -> bool:
    """Return whether a note is the id of an operation of ours."""
    try:
        return isinstance(note, str) and UUID(note).hex == note
    except ValueError:
        return False


def _moment(refund: Document) -> datetime | None:
    told = refund.get("created_at") or refund.get("createdAt")
    try:
        moment = datetime.fromisoformat(str(told))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _transaction_of(refund: Document) -> str:
    """Return the number of a refund's transaction, or an empty string if it isn't told."""
    told = refund.get("transaction")
    return identifier_text(told.get("id") if isinstance(told, dict) else told, length=64)
