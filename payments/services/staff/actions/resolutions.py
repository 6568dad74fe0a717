"""Resolve unknown outcomes as succeeded or failed, by staff, if the rail won't answer.

A resolution has the same transitions, ledger entries and events as the rail's own answer. A later answer changes
nothing, because the outcome is final.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from kit.db.clock import database_now
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import CardOperation, InvalidState, Transaction
from payments.rails.protocol import RailAnswer
from payments.rules.outcomes import COMPLETED, UNSPECIFIED_FAILURE, Outcome, payout_failure
from payments.services.transactions import operations, transitions
from payments.services.transactions.intents import lock
from payments.services.transactions.transitions import Cause

Awaiting = Transaction.Awaiting


class ApprovedInPart(InvalidState):
    """The charge can't stand: the acquirer approved a smaller amount than the payment's."""

    default_detail = (
        "The acquirer approved only a part of this payment, so it can't succeed. Have the acquirer reverse that part, "
        "and resolve this as succeeded."
    )


class QueryInProgress(InvalidState):
    """A process is querying the rail, which may still execute the order."""

    default_detail = "Its rail is being queried. Try again in a minute."


class OutcomeKnown(InvalidState):
    """The rail has answered, or another person has resolved it."""

    default_detail = "Its outcome is known, so there is nothing to resolve."


@database.atomic
def resolve_transaction(
    transaction_id: UUID, *, succeeded: bool, reason: str, evidence: str, actor: Actor, now: datetime
) -> Transaction:
    """Resolve a payment, card check or payout that awaits its rail, or the reversal of an authorisation.

    If it awaits a reversal, `succeeded` refers to the reversal: the payment fails. If the reversal failed, the charge
    stands and the payment succeeds.

    :raises OutcomeKnown: it doesn't await a rail's answer
    :raises ApprovedInPart: the acquirer approved a part, which can't become the payment
    :raises QueryInProgress: another process is querying its rail
    """
    transaction = lock(transaction_id)
    awaited = transaction.awaiting
    require_resolvable(transaction, succeeded=succeeded)
    require_unleased(transaction)
    if awaited == Awaiting.REVERSAL and succeeded:
        transitions.finish(transaction, transaction.reversed_outcome, cause=Cause.STAFF, now=now)
    else:
        took_place = succeeded != (awaited == Awaiting.REVERSAL)
        outcome = COMPLETED if took_place else _failure_of(transaction)
        transitions.apply_outcome(transaction, RailAnswer(outcome=outcome), cause=Cause.STAFF, now=now)
    audit.record(
        action="unknown.resolved",
        business=transaction.business,
        target=str(transaction.pk),
        before={"status": Transaction.Status.PENDING.value, "awaiting": str(awaited)},
        after={"status": str(transaction.status), "resolved_as": _outcome_word(succeeded=succeeded)}
        | {"reason": reason, "evidence": evidence},
        actor=actor,
        now=now,
    )
    return transaction


@database.atomic
def resolve_operation(
    operation_id: UUID, *, succeeded: bool, reason: str, evidence: str, actor: Actor, now: datetime
) -> CardOperation:
    """Resolve a capture, void or refund.

    :raises OutcomeKnown: it is not pending
    :raises QueryInProgress: another process is querying its rail
    """
    transaction = lock(CardOperation.objects.values_list("transaction_id", flat=True).get(pk=operation_id))
    pending = CardOperation.objects.unanswered().select_for_update()
    unknown = pending.filter(pk=operation_id).first()
    if unknown is None:
        raise OutcomeKnown
    require_unleased(unknown)
    outcome = COMPLETED if succeeded else UNSPECIFIED_FAILURE_BY_STAFF
    operation = operations.apply_answer(
        operation_id=operation_id, answer=RailAnswer(outcome=outcome), cause=Cause.STAFF, now=now
    )
    audit.record(
        action="unknown.resolved",
        business=transaction.business,
        target=str(operation.pk),
        before={"status": CardOperation.Status.PENDING.value, "kind": str(operation.kind)},
        after={"status": str(operation.status), "resolved_as": _outcome_word(succeeded=succeeded)}
        | {"reason": reason, "evidence": evidence},
        actor=actor,
        now=now,
    )
    return operation


def require_unleased(unknown: Transaction | CardOperation) -> None:
    """Check that no process has leased the row for a query. The caller holds the row's lock.

    :raises QueryInProgress: one has
    """
    leased_until = unknown.query_leased_until
    if leased_until is not None and leased_until > database_now():
        raise QueryInProgress


def require_resolvable(transaction: Transaction, *, succeeded: bool) -> None:
    """Check that the outcome is unknown, and that this can be the outcome.

    :raises OutcomeKnown: it doesn't await a rail's answer
    :raises ApprovedInPart: a charge of the full amount would be booked
    """
    if not is_unknown(transaction):
        raise OutcomeKnown
    if transaction.is_partly_approved and not succeeded:
        raise ApprovedInPart


def is_unknown(transaction: Transaction) -> bool:
    return transaction.awaiting in {Awaiting.RAIL, Awaiting.REVERSAL}


# Not from a gateway, so its code and recommendation are empty.
UNSPECIFIED_FAILURE_BY_STAFF = Outcome(UNSPECIFIED_FAILURE.code, UNSPECIFIED_FAILURE.summary)


def _failure_of(transaction: Transaction) -> Outcome:
    if transaction.request_type == Transaction.RequestType.PAYOUT:
        failed = payout_failure("")
        return Outcome(failed.code, failed.summary)
    return UNSPECIFIED_FAILURE_BY_STAFF


def _outcome_word(*, succeeded: bool) -> str:
    return "succeeded" if succeeded else "failed"
