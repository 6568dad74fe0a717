"""Refunds: all or part of what was captured goes back to the card."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction as database

from merchants.models import Business
from merchants.rows import insert_if_absent
from payments.idempotency import DuplicateReference, IdempotentResult, fingerprint, replay_of
from payments.identifiers import new_id
from payments.models import CardOperation, InvalidState, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import CardAcquirer
from payments.services import connectors, operations
from payments.services.finishing import Cause
from payments.services.intents import FIRST_QUERY_AFTER, lock, trace_fields
from payments.services.operations import AmountTooLarge, Kind
from payments.services.orders import card_order, operation_order


def refund(
    *, transaction: Transaction, request: dict[str, Any], now: datetime
) -> IdempotentResult[CardOperation]:
    """Give back `amount` minor units of a payment, or all that is left where none is named.

    :raises DuplicateReference: the refund's reference belongs to a different request
    :raises InvalidState: not a successful card payment, or nothing is left
    :raises AmountTooLarge: more than what is left, refunds under way counted
    :raises RailUnavailable: it is a new refund and the acquirer is unavailable; nothing was stored
    """
    mark = fingerprint({"payment": str(transaction.pk), **request})
    replay = _replay(transaction.business, request["reference"], mark)
    if replay is not None:
        return replay
    line = connectors.attempt(lambda: (connectors.acquirer_of(transaction), trace_fields()))
    opened = _open(transaction.pk, request, line, mark=mark, now=now)
    if isinstance(opened, IdempotentResult):
        return opened
    acquirer, new = opened
    order, asked = card_order(new.transaction), operation_order(new)
    answered = operations.ask(new, lambda: acquirer.operate(order, asked), cause=Cause.MERCHANT)
    return IdempotentResult(answered, is_replay=False)


@database.atomic
def _open(
    transaction_id: UUID,
    request: dict[str, Any],
    line: tuple[CardAcquirer, dict[str, str]] | RailUnavailable,
    *,
    mark: str,
    now: datetime,
) -> tuple[CardAcquirer, CardOperation] | IdempotentResult[CardOperation]:
    """Write the refund and return it with its acquirer. For a repeated request, return its replay."""
    transaction = lock(transaction_id)
    # Of two equal requests at once, the second has waited for the lock and finds the row of the first.
    replay = _replay(transaction.business, request["reference"], mark)
    if replay is not None:
        return replay
    amount = _refundable_amount(transaction, request.get("amount"))
    acquirer, trace = connectors.require(line)
    new = CardOperation(
        id=new_id(now),
        transaction=transaction,
        business=transaction.business,
        kind=Kind.REFUND,
        reference=request["reference"],
        fingerprint=mark,
        reason=request.get("reason", ""),
        amount=amount,
        **trace,
        next_query_at=now + FIRST_QUERY_AFTER,
        query_leased_until=now + FIRST_QUERY_AFTER,
        created_at=now,
    )
    if not insert_if_absent(new):  # the reference was taken this moment, for another payment
        taken = CardOperation.objects.get(business=transaction.business, reference=request["reference"])
        raise DuplicateReference.of(taken)
    transaction.reserve_refund(amount)
    return acquirer, new


def _replay(business: Business, reference: str, mark: str) -> IdempotentResult[CardOperation] | None:
    return replay_of(find_of(business, reference), fingerprint=mark)


def find_of(business: Business, reference: str) -> CardOperation | None:
    """Return the business's refund with that reference; another business's is none."""
    refunds = CardOperation.objects.select_related("transaction__business")
    found: CardOperation | None = refunds.filter(business=business, reference=reference).first()
    return found


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
