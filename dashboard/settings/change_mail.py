"""Emails to owners and finance about a change that loosens the protection of payouts."""

import structlog
from django.conf import settings
from django.urls import reverse

from kit import mail
from kit.text.display_names import mailed, mailed_address
from payments.models import PayoutControlsChange
from payments.services.payouts.controls.approvals import members_who_may

log = structlog.get_logger("sluice.dashboard")


def send_notice(change: PayoutControlsChange) -> None:
    """Email the members who may pay out. If that fails, the page still shows the change until it applies."""
    context = {
        "business": mailed(change.business.name),
        "maker": mailed_address(change.made_by.email),
        "applies_at": change.applies_at,
        "link": settings.PUBLIC_URL + reverse("dashboard-payout-settings"),
    }
    subject = f"Payout protection of {context['business']} is about to be loosened"
    mail.send(
        subject,
        "dashboard/settings/change_notice.txt",
        context,
        members_who_may(change.business).addresses(),
        log=log,
        failure="change of payout controls not mailed",
    )
