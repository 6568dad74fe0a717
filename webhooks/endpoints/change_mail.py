"""Emails to owners about endpoints that an API key added, or whose URL it changed."""

import structlog
from django.conf import settings

from kit import mail
from kit.text.display_names import mailed
from merchants.models import Member
from webhooks.endpoints.url_validation import shown_url
from webhooks.models import Endpoint

log = structlog.get_logger("sluice.webhooks")


def mail_owners(endpoint: Endpoint, happened: str, *, actor: str) -> None:
    """Email the owners of a business. A mail that can't be sent is only logged: the audit trail has the change."""
    business = mailed(endpoint.business.name)
    context = {
        "business": business,
        "happened": happened,
        "url": shown_url(endpoint.url),
        "actor": actor,
        "link": f"{settings.PUBLIC_URL}/dashboard/webhooks/",
    }
    mail.send(
        f"A webhook endpoint of {business} {happened}",
        "webhooks/endpoint_changed.txt",
        context,
        Member.objects.active(endpoint.business, [Member.Role.OWNER]).addresses(),
        log=log,
        failure="change of an endpoint not mailed",
    )
