"""E-mails to owners and developers about success rates that fell. Each fall is in one of them.

A lease keeps other workers from sending the same one, and lets one of them try again after a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from dashboard.models import FallenRate
from dashboard.success_rates import falls
from dashboard.success_rates.names import described
from kit import mail
from kit.text.display_names import mailed
from merchants.people import notifications

log = structlog.get_logger("sluice.dashboard")

LEASE = timedelta(minutes=5)  # after a failure, also the pause until the next try
LISTED = 10  # falls in an e-mail


def check(*, now: datetime) -> int:
    """Look for falls, and mail those that are due. Return the number of e-mails."""
    falls.update(now=now)
    due = FallenRate.objects.filter(mail_due_at__lte=now).order_by("business")
    return sum(_send_leased(key, now=now) for key in list(due.values_list("business", flat=True).distinct()))


def _send_leased(business_id: UUID, *, now: datetime) -> bool:
    mine, leased_until = FallenRate.objects.filter(business=business_id), now + LEASE
    if not mine.filter(mail_due_at__lte=now).update(mail_due_at=leased_until):  # another worker sends it
        return False
    leased = mine.filter(mail_due_at=leased_until)
    found = list(leased.select_related("business").order_by("pk"))
    is_sent = bool(found) and _mail(found)
    if is_sent:
        leased.update(mail_due_at=None)
    return is_sent


def _mail(found: Sequence[FallenRate]) -> bool:
    business = found[0].business
    with timezone.override(business.zone):
        return mail.send(
            f"Payments of {mailed(business.name)} fail more often than a week ago",
            "dashboard/success_rates/fallen.txt",
            {
                "business": mailed(business.name),
                "falls": [(described(fall.kind, fall.key), fall) for fall in found[:LISTED]],
                "further": max(len(found) - LISTED, 0),
                "began_at": found[0].began_at,
                "hours": falls.HOURS,
                "zone": str(business.zone),
                "link": settings.PUBLIC_URL + reverse("dashboard-success-rates"),
            },
            notifications.recipients(business, notifications.Kind.RATES),
            log=log,
            failure="fall of a success rate not mailed",
        )
