"""Capture or void an authorisation. Both are idempotent."""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from kit.api.replays import IdempotentResult
from kit.time.time_ordered_ids import new_id
from payments.models import CardOperation, InvalidState, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import CardAcquirer, Reverses
from payments.rules.outcomes import VOIDED
from payments.services.rails import rail_choices
from payments.services.rails.rail_orders import card_order, operation_order
from payments.services.rails.required_capabilities import require_multiple, require_void
from payments.services.transactions import operations
from payments.services.transactions.intents import FIRST_QUERY_AFTER, find, lock, trace_fields
from payments.services.transactions.operations import AmountTooLarge, Kind
from payments.services.transactions.state_descriptions import described
from payments.services.transactions.transitions import Cause


class OperationRefused(InvalidState):
    """The acquirer declined a capture or void at once. The authorisation is unchanged.

    An acquirer that accepts first may decline after the response. There, a refusal is a state (`last_operation`).
    """

    default_detail = "The acquirer declined this. The authorisation is unchanged."


def capture(*, transaction_id: UUID, amount: int | None, now: datetime) -> IdempotentResult[Transaction]:
    """Capture an authorised payment in full or in part, and release the rest. `amount` is in minor units, None for all.

    A capture of the same amount that has succeeded or has an unknown outcome is replayed. The payment is returned as it
    is now: still authorised, if the acquirer has only accepted the capture.

    :raises AmountTooLarge: the amount exceeds the authorised amount
    :raises InvalidState: the payment isn't authorised, is voided, or was captured with a different amount
    :raises NotSupported: the acquirer can't capture this amount; nothing was stored
    :raises OperationRefused: the acquirer declined the capture
    :raises RailUnavailable: the capture is new and the acquirer is unavailable; nothing was stored
    """
    return _end_authorisation(transaction_id, Kind.CAPTURE, amount=amount, now=now)


def void(*, transaction_id: UUID, now: datetime) -> IdempotentResult[Transaction]:
    """Void an authorisation: the payment fails with 20090.

    A void that has succeeded or has an unknown outcome is replayed.

    :raises InvalidState: the payment isn't authorised, is captured or has expired
    :raises NotSupported: the acquirer can't void; nothing was stored
    :raises OperationRefused: the acquirer declined the void
    :raises RailUnavailable: the void is new and the acquirer is unavailable; nothing was stored
    """
    return _end_authorisation(transaction_id, Kind.VOID, amount=None, now=now)


def _end_authorisation(
    transaction_id: UUID, kind: Kind, *, amount: int | None, now: datetime
) -> IdempotentResult[Transaction]:
    payment = find(transaction_id)
    found = rail_choices.attempt(lambda: (rail_choices.acquirer_of(payment), trace_fields()))
    if kind == Kind.VOID and not isinstance(found, RailUnavailable):
        require_void(found[0])
    opened = _open(payment.pk, kind, found, amount=amount, now=now)
    if opened.is_replay:
        return IdempotentResult(opened.resource.transaction, is_replay=True)
    acquirer, _ = rail_choices.require(found)
    return IdempotentResult(_ask(acquirer, opened.resource), is_replay=False)


@database.atomic
def _open(
    transaction_id: UUID,
    kind: Kind,
    found: tuple[CardAcquirer, dict[str, str]] | RailUnavailable,
    *,
    amount: int | None,
    now: datetime,
) -> IdempotentResult[CardOperation]:
    """Create the operation. For a repeated request, return the earlier one."""
    transaction = lock(transaction_id)
    earlier = operations.effective_capture_or_void(transaction)
    if earlier is not None:
        if _is_same(earlier, kind, amount=amount):
            return IdempotentResult(earlier, is_replay=True)
        if earlier.kind == kind == Kind.CAPTURE:
            raise InvalidState(
                f"Its capture has another amount: {earlier.amount}. {described(transaction)}",
                differs=["amount"],
            )
    operations.require_capturable(transaction, now=now)
    if amount is not None and amount > transaction.amount:
        raise AmountTooLarge(f"At most {transaction.amount} was authorised.", limit=transaction.amount)
    acquirer, trace = rail_choices.require(found)
    if amount is not None:
        require_multiple(acquirer, amount, transaction.currency)
    operation = CardOperation.objects.create(
        id=new_id(now),
        transaction=transaction,
        business=transaction.business,
        kind=kind,
        amount=transaction.amount if amount is None else amount,
        **trace,
        next_query_at=now + FIRST_QUERY_AFTER,
        query_leased_until=now + FIRST_QUERY_AFTER,
        created_at=now,
    )
    return IdempotentResult(operation, is_replay=False)


def _is_same(earlier: CardOperation, kind: Kind, *, amount: int | None) -> bool:
    transaction = earlier.transaction
    if earlier.kind != kind or earlier.amount != (transaction.amount if amount is None else amount):
        return False
    # An expired authorisation is also voided, but not by the merchant.
    return kind == Kind.CAPTURE or transaction.is_pending or transaction.response_code == VOIDED.code


def _ask(acquirer: CardAcquirer, operation: CardOperation) -> Transaction:
    order, asked = card_order(operation.transaction), operation_order(operation)
    answered = operations.call_rail(
        operation,
        lambda: acquirer.operate(order, asked),
        query=lambda: acquirer.query_operation(order, operation_order(operation)),
        cause=Cause.MERCHANT,
    )
    is_refused = answered.status == CardOperation.Status.FAILED
    if is_refused and acquirer.reverses == Reverses.DEFINITE:
        raise OperationRefused
    return answered.transaction
