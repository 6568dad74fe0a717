"""Deadlines of disputes: reminders before them, and the loss of those that were not answered."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction as database

from disputes.models import Dispute
from disputes.services import deadlines, moves
from disputes.services.locking import lock_dispute
from kit.db.clock import database_now
from kit.db.one_by_one import one_by_one
from payments.rules.words.dispute_words import Status


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
    done = one_by_one(partial(act, clock=clock), dispute_ids, failure="dispute's deadline not applied")
    yield from map(bool, done)
