"""Limits on the attempts of a subject within a sliding window, counted in the database.

An attempt takes one of a limited number of slots, stored as a row that expires. One statement takes a free or expired
slot, so parallel attempts can't exceed the limit. The window slides, so twice the limit isn't allowed around the
boundary of two windows.

Attempts are counted in the database and not in the cache, because signing in needs the database anyway, and Redis may
be unavailable or hang.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from kit.db.prepared_statements import insert_if_absent
from merchants.models import LimitSlot


class LimitReached(Exception):
    """All slots of a limit are taken until `retry_at`."""

    def __init__(self, limit: "Limit", *, retry_at: datetime) -> None:
        super().__init__(limit.name)
        self.limit = limit
        self.retry_at = retry_at

    def retry_after_seconds(self, now: datetime) -> int:
        """Return the value of a `Retry-After` header: whole seconds, at least 1."""
        return max(int((self.retry_at - now).total_seconds()) + 1, 1)


@dataclass(frozen=True, slots=True)
class Limit:
    """The number of attempts that one subject, such as a network address, has within a window."""

    name: str
    slots: int
    window: timedelta

    def of(self, *subject: object) -> "SlotRequest":
        """Return a request for one slot of a subject."""
        text = "\n".join([self.name, *map(str, subject)])
        return SlotRequest(
            limit=self, subject=hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRequest:
    """A request for a slot of a limit, for one subject."""

    limit: Limit
    subject: str  # SHA-256, so that e-mail addresses, or passwords typed in their place, aren't stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A taken slot. `release` frees it."""

    subject: str
    number: int
    expires_at: datetime


@transaction.atomic
def take(*requests: SlotRequest, now: datetime) -> list[Slot]:
    """Take one slot for each request, or none.

    Pass the requests in the same order everywhere, since their rows are locked in that order.

    :raises LimitReached: a limit has no free slot
    """
    return [_take(request, now=now) for request in requests]


def release(slots: Sequence[Slot]) -> None:
    """Free the slots of attempts that don't count, such as successful ones."""
    taken = Q()
    for slot in slots:
        taken |= Q(subject=slot.subject, number=slot.number, expires_at=slot.expires_at)
    if slots:
        LimitSlot.objects.filter(taken).delete()


def _take(request: SlotRequest, *, now: datetime) -> Slot:
    expires_at = now + request.limit.window
    live = _live_slots(request, now=now)
    for number in range(request.limit.slots):
        if number not in live and _acquire(request.subject, number, expires_at=expires_at, now=now):
            return Slot(subject=request.subject, number=number, expires_at=expires_at)
    retry_at = min(_live_slots(request, now=now).values(), default=now)
    raise LimitReached(request.limit, retry_at=retry_at)


def _live_slots(request: SlotRequest, *, now: datetime) -> dict[int, datetime]:
    live = LimitSlot.objects.filter(subject=request.subject, expires_at__gt=now)
    return dict(live.values_list("number", "expires_at"))


def _acquire(subject: str, number: int, *, expires_at: datetime, now: datetime) -> bool:
    """Take a free or expired slot. Return False if a parallel attempt took it first."""
    expired = LimitSlot.objects.filter(subject=subject, number=number, expires_at__lte=now)
    return expired.update(expires_at=expires_at) == 1 or insert_if_absent(
        LimitSlot(subject=subject, number=number, expires_at=expires_at)
    )
