"""Emails to owners and developers about an endpoint that fails, and that it accepts events again."""

from datetime import datetime
from smtplib import SMTPException
from urllib.parse import urlsplit, urlunsplit

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse

from kit.text.display_names import mailed, printable_line
from merchants.models import Business, Member
from webhooks.endpoints import outage_notices
from webhooks.endpoints.outage_notices import MOST_WAITING, Notice

log = structlog.get_logger("sluice.dashboard")

NOTIFIED = (Member.Role.OWNER, Member.Role.DEVELOPER)


def mail_due(*, now: datetime) -> int:
    """Email the notices that are due; return their number. One that could not be sent is retried later."""
    sent = 0
    for notice in outage_notices.due(now=now):
        if _mail(notice):
            notice.complete(now=now)
            sent += 1
    return sent


def _mail(notice: Notice) -> bool:
    business = Business.objects.get(pk=notice.endpoint.business_id)
    members = Member.objects.filter(business=business, role__in=NOTIFIED, user__is_active=True)
    recipients = list(members.order_by("pk").values_list("user__email", flat=True))
    if not recipients:
        return True
    state = "recovered" if notice.recovered_at else "failing"
    name = mailed(business.name)
    context = {
        "business": name,
        "url": shown_url(notice.endpoint.url),
        "notice": notice,
        "waiting": f"{notice.waiting} or more" if notice.waiting == MOST_WAITING else notice.waiting,
        "last_response": printable_line(notice.last_attempt.response) if notice.last_attempt else "",
        "link": settings.PUBLIC_URL + reverse("dashboard-webhooks"),
    }
    subject = f"Webhook endpoint of {name} " + (
        "accepts events again" if notice.recovered_at else "is failing"
    )
    try:
        send_mail(
            subject, render_to_string(f"dashboard/webhooks/endpoint_{state}.txt", context), None, recipients
        )
    except (OSError, SMTPException) as error:
        log.warning("endpoint outage not mailed", error=type(error).__name__)
        return False
    return True


def shown_url(url: str) -> str:
    """Return a URL without what may be a credential: user, password, query and fragment.

    >>> shown_url("https://ada:secret@shop.example:8443/hooks?token=1#x")
    'https://shop.example:8443/hooks'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
