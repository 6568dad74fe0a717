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
from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from payments.fingerprints import differing_fields, fingerprint
from payments.models import CardOperation, InvalidState, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import CardAcquirer, PayoutBank, RailAnswer
from payments.services.payouts import beneficiaries
from payments.services.payouts.controls import acceptance
from payments.services.payouts.controls.approvals import PayoutItem
from payments.services.payouts.controls.makers import NO_MAKER, Maker
from payments.services.rails import rail_choices
from payments.services.rails.rail_orders import card_order, operation_order, refund_order
from payments.services.rails.rail_queries import rail_blocks
from payments.services.rails.required_capabilities import require_refund
from payments.services.refunds import debt_limits, refund_cover
from payments.services.replays.stored_requests import stored_refund
from payments.services.transactions import operations
from payments.services.transactions.intents import FIRST_QUERY_AFTER, lock, trace_fields
from payments.services.transactions.operations import AmountTooLarge, Kind
from payments.services.transactions.state_descriptions import described
from payments.services.transactions.transitions import Cause
from payments.services.transfers import return_destinations
from virtual_accounts.models import Transfer

NOT_REFUNDABLE = {
    Transaction.RequestType.CARD_CHECK: "A card check moves no money, so there is nothing to refund.",
    Transaction.RequestType.PAYOUT: (
        "A payout can't be refunded, because the beneficiary has received the money. If the bank returns it, the "
        "amount is credited to your balance."
    ),
}


class NotRefundable(InvalidState):
    """Transactions of this kind can't be refunded."""

    default_code = "not_refundable"
    default_detail = "This can't be refunded."


class PaymentDisputed(InvalidState):
    """The refund would pay back money that a dispute holds or has taken."""

    default_code = "payment_disputed"
    default_detail = "This money is disputed."


class NeedsApproval(InvalidState):
    """The refund would pay an account that was entered, without the approval that payouts need."""

    default_detail = (
        "A payout to this account would wait for approval or for your server, and a refund can't wait. Send a payout to it "
        "instead."
    )


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
    *, transaction: Transaction, request: dict[str, Any], now: datetime, maker: Maker = NO_MAKER
) -> IdempotentResult[CardOperation]:
    """Refund `amount` minor units of a payment, or the full rest if no amount is given.

    :raises DuplicateReference: the reference was already used for a different refund request
    :raises NotRefundable: it is a card check or payout
    :raises InvalidState: the payment has not succeeded, or is already refunded in full
    :raises ValidationError: the destination is missing, or isn't allowed
    :raises OtherCurrency: the bank of the account uses another currency
    :raises NeedsApproval: it names an account, and a payout to it would need approval
    :raises PayoutsFrozen: it names an account, and staff have frozen the payouts of the business
    :raises BeneficiaryBlocked: it names an account that is blocked
    :raises AmountTooLarge: the amount exceeds the rest, after refunds in progress
    :raises PaymentDisputed: the rest would cover it, but part of that is disputed
    :raises InsufficientFunds: it is a bank transfer that the business's balance doesn't cover, or a card refund that
        would make the business owe more than is agreed
    :raises NotSupported: it is partial, and the acquirer refunds only in full, or no such amounts; nothing was stored
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
    opened = _open(transaction.pk, request, found, mark=mark, now=now, maker=maker)
    if opened.is_replay:
        return opened
    call = _rail_call(rail_choices.require(found), opened.resource)
    return replace(opened, resource=operations.call_rail(opened.resource, call, cause=Cause.MERCHANT))


def _rail_for(transaction: Transaction) -> Rail:
    """Return the rail of a refund: the payment's acquirer or the business's bank.

    :raises RailUnavailable: it is no longer configured, or unavailable
    """
    if transaction.is_transfer_payment:
        bank = rail_choices.bank_for_return(
            transaction.business, Transfer.objects.filter(session=transaction.session_id).first()
        )
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
    maker: Maker,
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
    if "destination" in request:
        _require_allowed(transaction, request, amount=amount, maker=maker)
    rail = rail_choices.require(found)
    require_refund(rail.connector, amount, transaction.currency, of=transaction.amount_collected)
    if transaction.is_transfer_payment:
        rail_blocks.require_open(rail.connector, currency=transaction.currency, amount=amount, now=now)
        refund_cover.require(transaction, amount)
    else:
        debt_limits.require_within(transaction, amount)
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


def _require_allowed(transaction: Transaction, request: dict[str, Any], *, amount: int, maker: Maker) -> None:
    """Check that a refund may go to the account that the request names.

    :raises NeedsApproval: a payout to it would wait for approval, or for the business's server
    :raises PayoutsFrozen: staff have frozen the payouts of the business
    :raises BeneficiaryBlocked: the account is blocked
    """
    named, business = request["destination"], transaction.business
    item = PayoutItem(
        request["reference"], amount, transaction.currency, narration=request.get("reason", ""), **named
    )
    verdict = acceptance.judge_return(business=business, item=item, is_to_sender=False, maker=maker)
    if verdict.refusal is not None:
        raise verdict.refusal
    if verdict.awaiting != Transaction.Awaiting.RAIL:
        raise NeedsApproval
    beneficiaries.require_open(business, account_number=named["account_number"], bank_code=named["bank_code"])


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
    return refunds.filter(business=business, reference=reference).first()


def _refundable_amount(transaction: Transaction, asked: int | None) -> int:
    left = transaction.amount_refundable
    if _is_stopped_by_dispute(transaction, asked):
        raise PaymentDisputed(
            f"The cardholder's bank disputes {transaction.amount_disputed} of this payment. A refund would pay that "
            f"back twice. {left} can be refunded."
        )
    if left == 0:
        if asked is not None:
            raise AmountTooLarge(_nothing_left(transaction))
        raise InvalidState(_nothing_left(transaction))
    if asked is not None and asked > left:
        raise AmountTooLarge(f"At most {left} is left to refund.", limit=left)
    return left if asked is None else asked


def _is_stopped_by_dispute(transaction: Transaction, asked: int | None) -> bool:
    """Return whether a refund would be possible without the payment's disputes."""
    left, undisputed = transaction.amount_refundable, transaction.amount_not_refunded
    return left == 0 < undisputed if asked is None else left < asked <= undisputed


def _nothing_left(transaction: Transaction) -> str:
    pending = transaction.operations.filter(kind=Kind.REFUND, status=CardOperation.Status.PENDING).exists()
    return f"Nothing is left to refund: all of it was refunded{' or is being refunded' if pending else ''}."
