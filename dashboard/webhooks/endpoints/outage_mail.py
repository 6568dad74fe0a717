"""Emails to owners and developers about an endpoint that fails, and that it accepts events again."""

from datetime import datetime

import structlog
from django.conf import settings

from dashboard.webhooks.endpoints.own_endpoints import address_of
from kit import mail
from kit.text.display_names import mailed, printable_line
from merchants.models import Business
from merchants.people import notifications
from webhooks.endpoints import outage_notices
from webhooks.endpoints.outage_notices import MOST_WAITING, Notice
from webhooks.endpoints.url_validation import shown_url

log = structlog.get_logger("sluice.dashboard")


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
    state = "recovered" if notice.recovered_at else "failing"
    name = mailed(business.name)
    context = {
        "business": name,
        "url": shown_url(notice.endpoint.url),
        "notice": notice,
        "waiting": f"{notice.waiting} or more" if notice.waiting == MOST_WAITING else notice.waiting,
        "last_response": printable_line(notice.last_attempt.response) if notice.last_attempt else "",
        "link": settings.PUBLIC_URL + address_of(notice.endpoint),
    }
    subject = f"Webhook endpoint of {name} " + (
        "accepts events again" if notice.recovered_at else "is failing"
    )
    return mail.send(
        subject,
        f"dashboard/webhooks/endpoint_{state}.txt",
        context,
        notifications.recipients(business, notifications.Kind.ENDPOINTS),
        log=log,
        failure="endpoint outage not mailed",
    )
