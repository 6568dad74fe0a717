"""Full and partial refunds to the card or to the sender's bank account."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction as database

from kit.api.replays import DuplicateReference, IdempotentResult, replay_of
from kit.db.prepared_statements import insert_if_absent
from merchants.models import Business
from payments.fingerprints import fingerprint
from payments.identifiers import new_id
from payments.models import CardOperation, InvalidState, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import CardAcquirer, PayoutBank, RailAnswer
from payments.services import operations, rail_choices
from payments.services.intents import FIRST_QUERY_AFTER, lock, trace_fields
from payments.services.operations import AmountTooLarge, Kind
from payments.services.rail_orders import card_order, operation_order, refund_order
from payments.services.state_descriptions import described
from payments.services.transfers import return_destinations
from payments.services.transitions import Cause
from virtual_accounts.models import Transfer

NOT_REFUNDABLE = {
    Transaction.RequestType.CARD_CHECK: "A card check moves no money, so there is nothing to refund.",
    Transaction.RequestType.PAYOUT: (
        "A payout can't be refunded, because the beneficiary has received the money. If the bank returns it, the "
        "amount is credited to your wallet."
    ),
}


class NotRefundable(InvalidState):
    """Transactions of this kind can't be refunded."""

    default_code = "not_refundable"
    default_detail = "This can't be refunded."


def require_refundable(transaction: Transaction) -> None:
    """Check that a transaction is a payment.

    :raises NotRefundable: it is a card check or a payout
    """
    reason = NOT_REFUNDABLE.get(Transaction.RequestType(transaction.request_type))
    if reason is not None:
        raise NotRefundable(reason)


@dataclass(frozen=True, slots=True)
class Rail:
    """The connector of a refund, and the columns that identify it."""

    connector: CardAcquirer | PayoutBank
    fields: dict[str, str]


def refund(
    *, transaction: Transaction, request: dict[str, Any], now: datetime
) -> IdempotentResult[CardOperation]:
    """Refund `amount` minor units of a payment, or the full rest if no amount is given.

    :raises DuplicateReference: the reference was already used for a different refund request
    :raises NotRefundable: it is a card check or payout
    :raises InvalidState: the payment has not succeeded, or is already refunded in full
    :raises ValidationError: the destination is missing, or isn't allowed
    :raises OtherCurrency: the bank of the account uses another currency
    :raises AmountTooLarge: the amount exceeds the rest, after refunds in progress
    :raises RailUnavailable: the refund is new and its rail is unavailable; nothing was stored
    """
    # Don't compare a card number in the reason. It is stored masked, and the response must not confirm it.
    mark = fingerprint({"payment": str(transaction.pk), **request}).request
    replay = _replay(transaction.business, request["reference"], mark)
    if replay is not None:
        return replay
    require_refundable(transaction)
    opened = _open(transaction.pk, request, rail_choices.attempt(_rail_for(transaction)), mark=mark, now=now)
    if isinstance(opened, IdempotentResult):
        return opened
    rail, new = opened
    answered = operations.call_rail(new, _rail_call(rail, new), cause=Cause.MERCHANT)
    return IdempotentResult(answered, is_replay=False)


def _rail_for(transaction: Transaction) -> Callable[[], Rail]:
    """Return a function that finds the rail of a refund: the payment's acquirer or the business's bank."""

    def find() -> Rail:
        if transaction.is_transfer_payment:
            bank = rail_choices.bank_for(transaction.business)
            return Rail(bank, {"connector": bank.name})
        return Rail(rail_choices.acquirer_of(transaction), trace_fields())

    return find


def _rail_call(rail: Rail, new: CardOperation) -> Callable[[], RailAnswer]:
    connector: Any = rail.connector
    if new.is_transfer_refund:
        transfer = refund_order(new)
        return lambda: connector.send(transfer)
    order, asked = card_order(new.transaction), operation_order(new)
    return lambda: connector.operate(order, asked)


@database.atomic
def _open(
    transaction_id: UUID,
    request: dict[str, Any],
    line: Rail | RailUnavailable,
    *,
    mark: str,
    now: datetime,
) -> tuple[Rail, CardOperation] | IdempotentResult[CardOperation]:
    """Create the refund and return it with its rail. For a repeated request, return the replay."""
    transaction = lock(transaction_id)
    # Of two concurrent equal requests, the second waits for the lock and then finds the row of the first.
    replay = _replay(transaction.business, request["reference"], mark)
    if replay is not None:
        return replay
    if transaction.status != Transaction.Status.SUCCESS:
        raise InvalidState(f"Only a successful payment can be refunded. {described(transaction)}")
    destination = _destination_fields(transaction, request)
    amount = _refundable_amount(transaction, request.get("amount"))
    rail = rail_choices.require(line)
    new = CardOperation(
        id=new_id(now),
        transaction=transaction,
        business=transaction.business,
        kind=Kind.REFUND,
        reference=request["reference"],
        fingerprint=mark,
        reason=request.get("reason", ""),
        amount=amount,
        **destination,
        **rail.fields,
        next_query_at=now + FIRST_QUERY_AFTER,
        query_leased_until=now + FIRST_QUERY_AFTER,
        created_at=now,
    )
    if not insert_if_absent(new):  # the reference was used concurrently for another payment
        taken = CardOperation.objects.get(business=transaction.business, reference=request["reference"])
        raise DuplicateReference.of(taken)
    transaction.reserve_refund(amount)
    return rail, new


def _destination_fields(transaction: Transaction, request: dict[str, Any]) -> dict[str, str]:
    named = request.get("destination")
    if not transaction.is_transfer_payment:
        return_destinations.refuse_without_sender(named)
        return {}
    destination = return_destinations.choose(Transfer.objects.get(session=transaction.session_id), named)
    return_destinations.require_currency(destination, transaction.currency)
    return {f"destination_{name}": value for name, value in asdict(destination).items()}


def _replay(business: Business, reference: str, mark: str) -> IdempotentResult[CardOperation] | None:
    return replay_of(find_of(business, reference), fingerprint=mark)


def find_of(business: Business, reference: str) -> CardOperation | None:
    """Return the business's refund with this reference, or None."""
    refunds = CardOperation.objects.select_related("transaction__business")
    found: CardOperation | None = refunds.filter(business=business, reference=reference).first()
    return found


def _refundable_amount(transaction: Transaction, asked: int | None) -> int:
    left = transaction.amount_refundable
    if left == 0:
        if asked is not None:
            raise AmountTooLarge(_nothing_left(transaction))
        raise InvalidState(_nothing_left(transaction))
    if asked is not None and asked > left:
        raise AmountTooLarge(f"At most {left} is left to refund.", limit=left)
    return left if asked is None else asked


def _nothing_left(transaction: Transaction) -> str:
    pending = transaction.operations.filter(kind=Kind.REFUND, status=CardOperation.Status.PENDING).exists()
    return f"Nothing is left to refund: all of it was refunded{' or is being refunded' if pending else ''}."
