"""Deadlines of disputes: reminders before them, and the loss of those that were not answered."""

from collections.abc import Callable, Iterator
from datetime import datetime
from uuid import UUID

import structlog
from django.db import DatabaseError
from django.db import transaction as database

from disputes.models import Dispute
from disputes.services import deadlines, moves
from disputes.services.locking import lock_dispute
from kit.db.clock import database_now
from payments.rules.words.dispute_words import Status

log = structlog.get_logger("sluice.disputes")


def overdue(*, now: datetime) -> list[UUID]:
    """Return the disputes that were not answered in time, longest overdue first."""
    return list(Dispute.objects.overdue(at=now).order_by("respond_by").values_list("pk", flat=True))


def to_remind(*, now: datetime) -> list[UUID]:
    """Return the disputes of which a reminder is due."""
    waiting = Dispute.objects.filter(
        status=Status.NEEDS_RESPONSE, remind_at__lte=now, respond_by__gt=now
    ).order_by("remind_at")
    return list(waiting.values_list("pk", flat=True))


def expire(dispute_ids: list[UUID], *, clock: Callable[[], datetime] = database_now) -> Iterator[bool]:
    """Expire each of these disputes, and yield whether this call did."""
    yield from _each(expire_one, dispute_ids, clock=clock)


def remind(dispute_ids: list[UUID], *, clock: Callable[[], datetime] = database_now) -> Iterator[bool]:
    """Publish the due reminder of each of these disputes, and yield whether this call did."""
    yield from _each(_remind_one, dispute_ids, clock=clock)


@database.atomic
def expire_one(dispute_id: UUID, *, clock: Callable[[], datetime]) -> bool:
    """Expire a dispute whose deadline has passed. Returns False if it was answered before."""
    dispute = lock_dispute(dispute_id)
    now = clock()  # under the lock: a submission either came before, or finds the deadline passed
    if dispute.status != Status.NEEDS_RESPONSE or dispute.respond_by is None or dispute.respond_by > now:
        return False
    moves.book([moves.close(dispute, Status.EXPIRED, outcome_amount=0, now=now)])
    return True


@database.atomic
def _remind_one(dispute_id: UUID, *, clock: Callable[[], datetime]) -> bool:
    dispute = lock_dispute(dispute_id)
    now = clock()
    if dispute.status != Status.NEEDS_RESPONSE or dispute.remind_at is None or dispute.remind_at > now:
        return False
    kind = deadlines.next_kind(set(dispute.steps.values_list("kind", flat=True)))
    if kind is None:
        return False
    moves.remind(dispute, kind, now=now)
    return True


def _each(
    act: Callable[..., bool], dispute_ids: list[UUID], *, clock: Callable[[], datetime]
) -> Iterator[bool]:
    """Act on each. A failure of one must not stop the others."""
    for dispute_id in dispute_ids:
        try:
            yield act(dispute_id, clock=clock)
        except Exception as error:
            # Don't log the message of a database error, because it may contain a row's values.
            exc_info = not isinstance(error, DatabaseError)
            log.exception(
                "dispute's deadline not applied",
                id=str(dispute_id),
                error=type(error).__name__,
                exc_info=exc_info,
            )
            yield False
