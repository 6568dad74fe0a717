"""Operations on an existing payment: captures, voids and refunds.

Each operation is a row, created under the transaction's lock before the rail is called. A concurrent capture, void
and expiry are thus serialised.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.db import transaction as database
from rest_framework import status

from kit.api.errors import Problem
from kit.db import clock
from kit.time.time_ordered_ids import new_id
from ledger import services as ledger
from payments.models import CardOperation, InvalidState, Transaction
from payments.rails.protocol import RailAnswer
from payments.rules.outcomes import COMPLETED, VOIDED, Outcome
from payments.services import ledger_entries
from payments.services.events import opt_in_events
from payments.services.rails.rail_queries import first_calls
from payments.services.transactions import accepted_operations, transitions
from payments.services.transactions.intents import lock
from payments.services.transactions.state_descriptions import described
from payments.services.transactions.transitions import Cause

Kind = CardOperation.Kind


class AmountTooLarge(Problem):
    """The amount exceeds the available amount."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "amount_too_large"
    default_detail = "The amount exceeds the available amount."

    def __init__(self, detail: str | None = None, *, limit: int = 0) -> None:
        """`limit` is the available amount in minor units, for pages."""
        super().__init__(detail)
        self.limit = limit


def call_rail(
    operation: CardOperation,
    call: Callable[[], RailAnswer],
    *,
    cause: Cause,
    query: Callable[[], RailAnswer] | None = None,
) -> CardOperation:
    """Call the rail, outside any database transaction, and apply its answer to the operation.

    If the rail only accepts the operation, `query` waits for its outcome for a moment. Without an outcome, the operation
    stays pending and `requery` queries it later.
    """
    answer = first_calls.answer_to(call, about=operation)
    if answer is not None and not answer.is_definite and query is not None:
        answer = accepted_operations.outcome_of(operation, query)
    if answer is None or not answer.is_definite:
        return operation
    return apply_answer(operation_id=operation.pk, answer=answer, cause=cause, now=clock.now())


@database.atomic
def apply_answer(*, operation_id: UUID, answer: RailAnswer, cause: Cause, now: datetime) -> CardOperation:
    """Apply the rail's answer to a pending operation. First writer wins."""
    transaction = lock(CardOperation.objects.values_list("transaction_id", flat=True).get(pk=operation_id))
    operation = CardOperation.objects.get(pk=operation_id)
    operation.transaction = transaction
    if operation.status != CardOperation.Status.PENDING:
        return operation  # answered in the meantime
    if not answer.is_definite:
        return operation  # `requery` queries it later
    operation.finish(answer, now=now)
    _apply(operation, answer.outcome, cause=cause, now=now)
    return operation


def open_release(transaction: Transaction, *, trace: dict[str, str], now: datetime) -> CardOperation:
    """Create the void of an expired authorisation. `requery` sends it until the acquirer answers.

    The caller holds the transaction's lock. `trace` is the result of `trace_fields`, called before the database
    transaction.
    """
    return CardOperation.objects.create(
        id=new_id(now),
        transaction=transaction,
        business=transaction.business,
        kind=Kind.VOID,
        amount=transaction.amount,
        reason="The authorisation has expired.",
        **trace,
        next_query_at=now,
        created_at=now,
    )


def require_capturable(transaction: Transaction, *, now: datetime) -> None:
    """Check that a payment can be captured or voided.

    :raises InvalidState: it isn't authorised, has expired, or is being captured or voided
    """
    if transaction.awaiting != Transaction.Awaiting.CAPTURE:
        raise InvalidState(
            f"Only an authorised payment that was not captured or voided allows this. {described(transaction)}"
        )
    if transaction.expires_at is None or transaction.expires_at <= now:
        raise InvalidState("The authorisation has expired.")
    under_way = effective_capture_or_void(transaction)
    if under_way is not None:
        raise InvalidState(f"A {under_way.kind} of this payment is in progress.")


def effective_capture_or_void(transaction: Transaction) -> CardOperation | None:
    """Return the capture or void that has succeeded or is pending. There is at most one."""
    found = transaction.operations.filter(
        kind__in=[Kind.CAPTURE, Kind.VOID],
        status__in=[CardOperation.Status.PENDING, CardOperation.Status.SUCCESS],
    ).first()
    if found is not None:
        found.transaction = transaction
    return found


def is_capture_or_void_under_way(transaction: Transaction) -> bool:
    """Return whether a capture or void is pending."""
    return transaction.operations.filter(
        kind__in=[Kind.CAPTURE, Kind.VOID], status=CardOperation.Status.PENDING
    ).exists()


def _apply(operation: CardOperation, outcome: Outcome, *, cause: Cause, now: datetime) -> None:
    """Apply an operation's outcome to its transaction. A declined capture or void leaves it unchanged."""
    transaction = operation.transaction
    if operation.kind == Kind.REFUND:
        _finish_refund(operation, outcome, cause=cause, now=now)
    elif operation.kind == Kind.CAPTURE and outcome.is_success:
        transitions.finish(transaction, COMPLETED, captured=operation.amount, cause=cause, now=now)
    elif operation.kind == Kind.VOID and outcome.is_success and transaction.is_pending:
        transitions.finish(transaction, VOIDED, cause=cause, now=now)


def _finish_refund(refund: CardOperation, outcome: Outcome, *, cause: Cause, now: datetime) -> None:
    """Book a successful refund, or release the reserved amount of a failed one."""
    refund.transaction.finish_refund(refund.amount, succeeded=outcome.is_success, cause=cause, now=now)
    if refund.transaction.amount_being_refunded:
        waiting = refund.transaction.operations.filter(kind=Kind.REFUND, status=CardOperation.Status.PENDING)
        waiting.update(next_query_at=now)  # one of them may be waiting for this one's end
    opt_in_events.publish_refund(refund, now=now)
    if outcome.is_success:
        ledger.book(ledger_entries.refunded(refund, now=now))
