"""Refunds: all or part of what was captured goes back to the card."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction as database

from merchants.models import Business
from merchants.rows import insert_if_absent
from payments.idempotency import DuplicateReference, fingerprint
from payments.identifiers import new_id
from payments.models import CardOperation, InvalidState, Transaction
from payments.services import operations
from payments.services.connectors import acquirer_of
from payments.services.finishing import Cause
from payments.services.intents import FIRST_QUERY_AFTER, lock, trace_fields
from payments.services.operations import AmountTooLarge, Kind
from payments.services.orders import card_order, operation_order


@dataclass(frozen=True, slots=True)
class OpenedRefund:
    """A refund, and whether this request is the one that wrote it."""

    refund: CardOperation
    is_new: bool


def refund(*, transaction: Transaction, request: dict[str, Any], now: datetime) -> OpenedRefund:
    """Give back `amount` minor units of a payment, or all that is left where none is named.

    :raises DuplicateReference: the refund's reference belongs to a different request
    :raises InvalidState: not a successful card payment, or nothing is left
    :raises AmountTooLarge: more than what is left, refunds under way counted
    """
    acquirer = acquirer_of(transaction)
    mark = fingerprint({"payment": str(transaction.pk), **request})
    existing = _existing(transaction.business, request["reference"], mark)
    opened = existing or _open(transaction.pk, request, mark=mark, now=now)
    if not opened.is_new:
        return opened
    order, asked = card_order(opened.refund.transaction), operation_order(opened.refund)
    answered = operations.ask(opened.refund, lambda: acquirer.operate(order, asked), cause=Cause.MERCHANT)
    return OpenedRefund(answered, is_new=True)


@database.atomic
def _open(transaction_id: UUID, request: dict[str, Any], *, mark: str, now: datetime) -> OpenedRefund:
    transaction = lock(transaction_id)
    # Two equal requests at once: the second one waited at the lock and finds the first one's row now.
    existing = _existing(transaction.business, request["reference"], mark)
    if existing:
        return existing
    amount = _refundable_amount(transaction, request.get("amount"))
    new = CardOperation(
        id=new_id(now),
        transaction=transaction,
        business=transaction.business,
        kind=Kind.REFUND,
        reference=request["reference"],
        fingerprint=mark,
        reason=request.get("reason", ""),
        amount=amount,
        **trace_fields(now=now),
        next_query_at=now + FIRST_QUERY_AFTER,
        created_at=now,
    )
    if not insert_if_absent(new):  # the reference was taken this moment, for another payment
        taken = CardOperation.objects.get(business=transaction.business, reference=request["reference"])
        raise DuplicateReference(id=str(taken.pk), status=taken.status)
    transaction.reserve_refund(amount)
    return OpenedRefund(new, is_new=True)


def _existing(business: Business, reference: str, mark: str) -> OpenedRefund | None:
    found = (
        CardOperation.objects.select_related("transaction")
        .filter(business=business, reference=reference)
        .first()
    )
    if found is None:
        return None
    if found.fingerprint != mark:
        raise DuplicateReference(id=str(found.pk), status=found.status)
    return OpenedRefund(found, is_new=False)


def _refundable_amount(transaction: Transaction, asked: int | None) -> int:
    if not transaction.is_card_payment or transaction.status != Transaction.Status.SUCCESS:
        raise InvalidState("Only a successful payment can be refunded.")
    left = transaction.amount_refundable
    if left == 0:
        if asked is not None:
            raise AmountTooLarge("Nothing is left to refund.")
        raise InvalidState("Nothing is left to refund.")
    if asked is not None and asked > left:
        raise AmountTooLarge(f"At most {left} is left to refund.")
    return left if asked is None else asked
