"""E-mails to owners and finance about disputes, at the same moments as the events.

Each is stored with its step and sent later, outside of any database transaction. A lease keeps other workers from
sending the same one, and lets one of them try again after a failure.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from dashboard.disputes.detail.outcome import outcome_of
from dashboard.ui.dispute_names import dispute_name, dispute_reason, stage_name
from disputes.models import Dispute, DisputeMail, DisputeStep
from kit import mail
from kit.money.money import money
from kit.text.display_names import mailed
from merchants.models import Business
from merchants.people import notifications

log = structlog.get_logger("sluice.dashboard")

LEASE = timedelta(minutes=5)  # after a failure, also the pause until the next try
KEPT = timedelta(days=3)  # a mail that can't be sent for so long isn't sent any more
AT_ONCE = 100
Kind = DisputeStep.Kind


def mail_due(*, now: datetime) -> int:
    """Send the e-mails that are due, and return their number."""
    due = DisputeMail.objects.filter(due_at__lte=now).order_by("due_at")[:AT_ONCE]
    return sum(_send_leased(key, now=now) for key in list(due.values_list("pk", flat=True)))


def _send_leased(key: UUID, *, now: datetime) -> bool:
    waiting = DisputeMail.objects.filter(pk=key)
    if not waiting.filter(due_at__lte=now).update(due_at=now + LEASE):  # another worker sends it
        return False
    step = DisputeStep.objects.select_related("dispute__business", "dispute__transaction").get(pk=key)
    is_sent = _mail(step, now=now)
    if is_sent or step.at < now - KEPT:
        waiting.delete()
    return is_sent


def _mail(step: DisputeStep, *, now: datetime) -> bool:
    dispute = step.dispute
    with timezone.override(dispute.business.zone):
        return mail.send(
            _subject(step),
            "dashboard/disputes/notice.txt",
            _context(dispute, dispute.business, now=now),
            notifications.recipients(dispute.business, notifications.Kind.DISPUTES),
            log=log,
            failure="dispute not mailed",
        )


def _subject(step: DisputeStep) -> str:
    amount = money(step.dispute.amount, step.dispute.currency)
    about = f"{amount}, {mailed(step.dispute.business.name)}"
    if step.kind == Kind.OPENED:
        return f"New dispute: {about}"
    if step.kind in (Kind.HALF_TIME, Kind.LAST_QUARTER):
        return f"Respond to this dispute soon: {about}"
    if step.kind == Kind.CLOSED:
        return f"Dispute ended, {dispute_name(step.status).lower()}: {about}"
    return f"Dispute changed: {about}"


def _context(dispute: Dispute, business: Business, *, now: datetime) -> dict[str, object]:
    return {
        "outcome": outcome_of(dispute, now=now),
        "business": mailed(business.name),
        "stage": stage_name(dispute.stage),
        "reason": dispute_reason(dispute.reason),
        "amount": money(dispute.amount, dispute.currency),
        "dispute": dispute,
        "zone": str(business.zone),
        "link": settings.PUBLIC_URL + reverse("dashboard-dispute", args=[dispute.pk]),
    }
