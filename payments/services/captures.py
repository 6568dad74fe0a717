"""An authorised payment's end: captured, or released."""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from payments.identifiers import new_id
from payments.models import CardOperation, InvalidState, Transaction
from payments.rails.protocol import CardAcquirer
from payments.services import operations
from payments.services.connectors import acquirer_of
from payments.services.finishing import Cause
from payments.services.intents import FIRST_QUERY_AFTER, find, lock, trace_fields
from payments.services.operations import AmountTooLarge, Kind
from payments.services.orders import card_order, operation_order


class OperationRefused(InvalidState):
    """The acquirer said no to a capture or void; the authorisation stands as before."""

    default_detail = "The acquirer refused this. The authorisation stands as it was."


def capture(*, transaction_id: UUID, amount: int | None, now: datetime) -> Transaction:
    """Take an authorised amount, or part of it; the rest is released. Amount in minor units, None for all.

    :raises AmountTooLarge: more than was authorised
    :raises InvalidState: not authorised, or captured or voided before
    :raises OperationRefused: the acquirer said no
    """
    acquirer = acquirer_of(find(transaction_id))
    return _ask(acquirer, _open(transaction_id, Kind.CAPTURE, amount=amount, now=now))


def void(*, transaction_id: UUID, now: datetime) -> Transaction:
    """Release an authorisation: the payment fails with 20090.

    :raises InvalidState: not authorised, or captured or voided before
    :raises OperationRefused: the acquirer said no
    """
    acquirer = acquirer_of(find(transaction_id))
    return _ask(acquirer, _open(transaction_id, Kind.VOID, amount=None, now=now))


@database.atomic
def _open(transaction_id: UUID, kind: Kind, *, amount: int | None, now: datetime) -> CardOperation:
    transaction = lock(transaction_id)
    operations.require_capturable(transaction, now=now)
    if amount is not None and amount > transaction.amount:
        raise AmountTooLarge(f"At most {transaction.amount} was authorised.")
    return CardOperation.objects.create(
        id=new_id(now),
        transaction=transaction,
        business=transaction.business,
        kind=kind,
        amount=transaction.amount if amount is None else amount,
        **trace_fields(now=now),
        next_query_at=now + FIRST_QUERY_AFTER,
        created_at=now,
    )


def _ask(acquirer: CardAcquirer, operation: CardOperation) -> Transaction:
    order, asked = card_order(operation.transaction), operation_order(operation)
    answered = operations.ask(operation, lambda: acquirer.operate(order, asked), cause=Cause.MERCHANT)
    if answered.status == CardOperation.Status.FAILED:
        raise OperationRefused
    return answered.transaction
