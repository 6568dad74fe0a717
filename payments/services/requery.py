"""Unknown outcomes: ask the rail again, at growing intervals, until it gives a definite answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError
from django.db import transaction as database
from django.db.models import Q

from payments.models import AlreadyMoved, CardOperation, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import AnswerLost, CannotTell, CardOrder, RailAnswer
from payments.services import authorisation_reversals, finishing, operations
from payments.services.connectors import acquirer_of, bank_of
from payments.services.finishing import Cause
from payments.services.orders import card_order, operation_order, payout_order

log = structlog.get_logger("sluice.requery")

Unanswered: TypeAlias = Transaction | CardOperation

# The wait before each further question. The last one repeats: nothing is ever failed on a guess.
INTERVALS = (
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=4),
    timedelta(hours=12),
)
# So many that could not be written down are the database's trouble and not a row's: the rest waits for the next run.
MISSES = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """What one more question brought."""

    subject: Unanswered
    is_answered: bool


def unanswered(*, due_at: datetime | None = None) -> list[Unanswered]:
    """Return everything whose outcome is unknown; only what is due at a moment, where one is given."""
    due = Q() if due_at is None else Q(next_query_at__lte=due_at)
    transactions = Transaction.objects.unanswered().filter(due).select_related("business", "challenge")
    pending = CardOperation.objects.filter(due, status=CardOperation.Status.PENDING)
    return [
        *transactions.order_by("next_query_at"),
        *pending.select_related("transaction__business").order_by("next_query_at"),
    ]


def requery(subjects: list[Unanswered], *, now: datetime) -> Iterator[Asked]:
    """Ask the rail about each, and apply what it says. One at a time, outside every database transaction.

    What the database cannot take now stays due: only a rail that says nothing is asked more seldom.
    """
    misses = 0
    for subject in subjects:
        try:
            is_answered = _ask_again(subject, now=now)
        except (OperationalError, InterfaceError) as error:
            log.warning("the database is away", id=str(subject.pk), error=type(error).__name__)
            is_answered = False
            misses += 1
        yield Asked(subject, is_answered=is_answered)
        if misses == MISSES:
            return


def _ask_again(subject: Unanswered, *, now: datetime) -> bool:
    try:
        is_answered = _ask_and_apply(subject, now=now)
    except AlreadyMoved:
        is_answered = True  # somebody else was first
    except (AnswerLost, RailUnavailable):
        is_answered = False
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        # Whatever is wrong with this one, the others must be asked too. What a database error says stays
        # out of the log: it may quote a row's values.
        log.exception("requery failed", id=str(subject.pk), exc_info=not isinstance(error, DatabaseError))
        is_answered = False
    if not is_answered:
        _ask_later(subject, now=now)
    return is_answered


def _ask_and_apply(subject: Unanswered, *, now: datetime) -> bool:
    if isinstance(subject, CardOperation):
        return _ask_about_operation(subject, now=now)
    if subject.request_type == Transaction.RequestType.PAYOUT:
        return _apply(subject, bank_of(subject).query(payout_order(subject)), now=now)
    acquirer = acquirer_of(subject)
    if subject.awaiting == Transaction.Awaiting.RAIL:
        try:
            return _apply(subject, acquirer.query(_passed_order(subject)), now=now)
        except CannotTell:
            pass  # then it is undone
    authorisation_reversals.reverse(subject, acquirer=acquirer, now=now)
    return True


def _apply(transaction: Transaction, answer: RailAnswer, *, now: datetime) -> bool:
    if answer.is_definite:
        finishing.apply_answer(transaction, answer, cause=Cause.REQUERY, now=now)
    return answer.is_definite


def _ask_about_operation(operation: CardOperation, *, now: datetime) -> bool:
    order, asked = card_order(operation.transaction), operation_order(operation)
    answer = acquirer_of(operation.transaction).query_operation(order, asked)
    if answer.is_definite:
        operations.apply_answer(operation_id=operation.pk, answer=answer, cause=Cause.REQUERY, now=now)
    return answer.is_definite


def _passed_order(transaction: Transaction) -> CardOrder:
    challenge = getattr(transaction, "challenge", None)
    has_passed = challenge is not None and challenge.passed_at is not None
    return card_order(transaction, has_passed_challenge=has_passed)


@database.atomic
def _ask_later(subject: Unanswered, *, now: datetime) -> None:
    locked: Unanswered = type(subject).objects.select_for_update().get(pk=subject.pk)
    if locked.next_query_at is not None:  # it is still unanswered
        wait = INTERVALS[min(locked.queries_made, len(INTERVALS) - 1)]
        locked.ask_later(query_at=now + wait)
