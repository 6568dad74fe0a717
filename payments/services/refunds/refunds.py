"""Full and partial refunds to the card or to the sender's bank account."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction as database

from kit.api.replays import DuplicateReference, IdempotentResult, replay_of
from kit.db.prepared_statements import insert_if_absent
from merchants.models import Business
from payments.fingerprints import differing_fields, fingerprint
from payments.identifiers import new_id
from payments.models import CardOperation, InvalidState, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import CardAcquirer, PayoutBank, RailAnswer
from payments.services import operations
from payments.services.intents import FIRST_QUERY_AFTER, lock, trace_fields
from payments.services.operations import AmountTooLarge, Kind
from payments.services.rails import rail_choices
from payments.services.rails.rail_orders import card_order, operation_order, refund_order
from payments.services.rails.rail_queries import rail_blocks
from payments.services.rails.required_capabilities import require_refund
from payments.services.refunds import refund_cover
from payments.services.replays.stored_requests import stored_refund
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
    :raises InsufficientFunds: it is a bank transfer that the business's balance doesn't cover
    :raises NotSupported: it is partial, and the acquirer only refunds in full; nothing was stored
    :raises RailUnavailable: the refund is new and its rail is unavailable; nothing was stored
    """
    # Don't compare a card number in the reason. It is stored masked, and the response must not confirm it.
    compared = {"payment": str(transaction.pk), **request}
    mark = fingerprint(compared).request
    replay = _replay(transaction.business, compared, mark)
    if replay is not None:
        return replay
    require_refundable(transaction)
    found = rail_choices.attempt(partial(_rail_for, transaction))
    opened = _open(transaction.pk, request, found, mark=mark, now=now)
    if opened.is_replay:
        return opened
    call = _rail_call(rail_choices.require(found), opened.resource)
    return replace(opened, resource=operations.call_rail(opened.resource, call, cause=Cause.MERCHANT))


def _rail_for(transaction: Transaction) -> Rail:
    """Return the rail of a refund: the payment's acquirer or the business's bank.

    :raises RailUnavailable: it is no longer configured, or unavailable
    """
    if transaction.is_transfer_payment:
        bank = rail_choices.bank_for(transaction.business)
        return Rail(bank, rail_choices.columns(bank))
    return Rail(rail_choices.acquirer_of(transaction), trace_fields())


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
    found: Rail | RailUnavailable,
    *,
    mark: str,
    now: datetime,
) -> IdempotentResult[CardOperation]:
    """Create the refund. For a repeated request, return the earlier one."""
    transaction = lock(transaction_id)
    # Of two concurrent equal requests, the second waits for the lock and then finds the row of the first.
    compared = {"payment": str(transaction.pk), **request}
    replay = _replay(transaction.business, compared, mark)
    if replay is not None:
        return replay
    if transaction.status != Transaction.Status.SUCCESS:
        raise InvalidState(f"Only a successful payment can be refunded. {described(transaction)}")
    destination = _destination_fields(transaction, request)
    amount = _refundable_amount(transaction, request.get("amount"))
    rail = rail_choices.require(found)
    require_refund(rail.connector, amount, of=transaction.amount_collected)
    if transaction.is_transfer_payment:
        rail_blocks.require_open(rail.connector, currency=transaction.currency, amount=amount, now=now)
        refund_cover.require(transaction, amount)
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
        **refund_cover.columns(transaction),
        next_query_at=now + FIRST_QUERY_AFTER,
        query_leased_until=now + FIRST_QUERY_AFTER,
        created_at=now,
    )
    if not insert_if_absent(new):  # the reference was used concurrently for another payment
        taken = CardOperation.objects.get(business=transaction.business, reference=request["reference"])
        raise DuplicateReference.of(taken, differs=_differing(taken, compared))
    transaction.reserve_refund(amount)
    return IdempotentResult(new, is_replay=False)


def _destination_fields(transaction: Transaction, request: dict[str, Any]) -> dict[str, str]:
    named = request.get("destination")
    if not transaction.is_transfer_payment:
        return_destinations.refuse_without_sender(named)
        return {}
    destination = return_destinations.choose(Transfer.objects.get(session=transaction.session_id), named)
    return_destinations.require_currency(destination, transaction.currency)
    return {f"destination_{name}": value for name, value in asdict(destination).items()}


def _replay(
    business: Business, compared: dict[str, Any], mark: str
) -> IdempotentResult[CardOperation] | None:
    existing = find_of(business, compared["reference"])
    return replay_of(existing, fingerprint=mark, differs=lambda refund: _differing(refund, compared))


def _differing(refund: CardOperation, compared: dict[str, Any]) -> list[str]:
    names = differing_fields(compared, stored_refund(refund), fingerprint=refund.fingerprint)
    return ["payment_reference" if name == "payment" else name for name in names]


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
