"""Emails to owners when staff close their business, or reopen it."""

import structlog
from django.conf import settings

from kit import mail
from kit.text.display_names import mailed
from merchants.models import Business, Member

log = structlog.get_logger("sluice.payments")


def mail_owners(business: Business) -> None:
    """Email what the business can and can't do now. Why it was closed stays in the audit trail."""
    name = mailed(business.name)
    happened = "reopened" if business.is_active else "closed"
    mail.send(
        f"{name} was {happened}",
        f"payments/business_{happened}.txt",
        {"business": name, "link": f"{settings.PUBLIC_URL}/dashboard/"},
        Member.objects.active(business, [Member.Role.OWNER]).addresses(),
        log=log,
        failure="state of a business not mailed",
    )
