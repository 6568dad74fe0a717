"""How far a resend of many deliveries has come.

The audit entries of a resend have its moment, which names it. No row counts the answers: the deliveries have them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from urllib.parse import urlencode
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from merchants.models import AuditEntry, Business
from webhooks.models import Delivery

MOST = 500  # deliveries of a resend that are followed
State = Delivery.State


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendProgress:
    """A resend: its deliveries, those that wait for their extra attempt, and those that are delivered."""

    total: int
    waiting: int
    delivered: int

    @property
    def answered(self) -> int:
        return self.total - self.waiting

    @property
    def failed(self) -> int:
        return self.answered - self.delivered

    @property
    def is_over(self) -> bool:
        return not self.waiting

    @property
    def segments(self) -> list[tuple[str, str, str]]:
        """Return the parts of the meter: the style, left edge and width of each, in per cent of the meter.

        >>> ResendProgress(total=4, waiting=1, delivered=2).segments
        [('good', '0%', '50%'), ('bad', '50%', '25%'), ('', '75%', '25%')]
        """
        counts = (("good", self.delivered), ("bad", self.failed), ("", self.waiting))
        begins = accumulate((count for _, count in counts), initial=0)
        return [
            (style, f"{begin * 100 / self.total:.4g}%", f"{count * 100 / self.total:.4g}%")
            for (style, count), begin in zip(counts, begins, strict=False)
            if count
        ]


def query_of(resent_at: datetime) -> str:
    """Return the query that lets a page show the progress of the resend of this moment."""
    return urlencode({"resent": resent_at.isoformat()})


def progress_of(business: Business, moment: str) -> ResendProgress | None:
    """Return the progress of the resend that an address names, or None if the business has no such resend."""
    resent_at = _moment(moment)
    if resent_at is None:
        return None
    entries = AuditEntry.objects.filter(business=business, action="webhook.replayed", at=resent_at)
    ids = [UUID(target) for target in entries.values_list("target", flat=True)[:MOST]]
    states = Delivery.objects.filter(business=business, pk__in=ids).values_list("state", "is_manual")
    counts = Counter(states) if ids else Counter()
    if not counts:
        return None
    delivered = sum(count for (state, _), count in counts.items() if state == State.DELIVERED)
    return ResendProgress(
        total=counts.total(), waiting=counts[State.WAITING.value, True], delivered=delivered
    )


def _moment(text: str) -> datetime | None:
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    return None if moment is None or timezone.is_naive(moment) else moment
