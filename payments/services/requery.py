"""Unknown outcomes: ask the rail again, at growing intervals, until it gives a definite answer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

import structlog
from django.db import DatabaseError
from django.db import transaction as database
from django.db.models import Q

from payments.models import CardOperation, Transaction
from payments.rails import card_acquirer, payout_bank
from payments.rails.protocol import AnswerLost, RailAnswer
from payments.services import operations, settlement
from payments.services.orders import card_order, operation_order, payout_order
from payments.services.settlement import Cause

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
    """Ask the rail about each, and apply what it says. One at a time, outside every database transaction."""
    for subject in subjects:
        yield Asked(subject, is_answered=_ask_again(subject, now=now))


def _ask_again(subject: Unanswered, *, now: datetime) -> bool:
    try:
        is_answered = _ask_and_apply(subject, now=now)
    except AnswerLost:
        is_answered = False
    except Exception as error:
        # Whatever is wrong with this one, the others must be asked too. What a database error says stays
        # out of the log: it may quote a row's values.
        log.exception("requery failed", id=str(subject.pk), exc_info=not isinstance(error, DatabaseError))
        is_answered = False
    if not is_answered:
        _ask_later(subject, now=now)
    return is_answered


def _ask_and_apply(subject: Unanswered, *, now: datetime) -> bool:
    answer = _question(subject)()
    if not answer.is_definite:
        return False
    if isinstance(subject, CardOperation):
        operations.apply_answer(operation_id=subject.pk, answer=answer, cause=Cause.REQUERY, now=now)
    else:
        settlement.apply_answer(subject, answer, cause=Cause.REQUERY, now=now)
    return True


def _question(subject: Unanswered) -> Callable[[], RailAnswer]:
    if isinstance(subject, CardOperation):
        order, operation = card_order(subject.transaction), operation_order(subject)
        return lambda: card_acquirer().query_operation(order, operation)
    if subject.request_type == Transaction.RequestType.PAYOUT:
        return lambda: payout_bank().query(payout_order(subject))
    challenge = getattr(subject, "challenge", None)
    has_passed = challenge is not None and challenge.passed_at is not None
    return lambda: card_acquirer().query(card_order(subject, has_passed_challenge=has_passed))


@database.atomic
def _ask_later(subject: Unanswered, *, now: datetime) -> None:
    locked: Unanswered = type(subject).objects.select_for_update().get(pk=subject.pk)
    if locked.next_query_at is not None:  # it is still unanswered
        wait = INTERVALS[min(locked.queries_made, len(INTERVALS) - 1)]
        locked.ask_later(query_at=now + wait)
