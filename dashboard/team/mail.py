"""The mail that invites somebody."""

from smtplib import SMTPException

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string

from merchants.models import Invitation

log = structlog.get_logger("sluice.dashboard")


def send_invitation(invitation: Invitation, *, link: str, inviter: str) -> bool:
    """Mail the link; False where no mail could be sent: then it has to be handed on."""
    if settings.EMAIL_BACKEND == "django.core.mail.backends.dummy.EmailBackend":
        return False
    context = {
        "inviter": inviter,
        "business": invitation.business.name,
        "role": invitation.get_role_display().lower(),
        "expires_at": invitation.expires_at,
        "link": link,
    }
    subject = " ".join(f"Join {invitation.business.name} on Sluice".split())
    try:
        send_mail(
            subject, render_to_string("dashboard/team/invitation.txt", context), None, [invitation.email]
        )
    except (OSError, SMTPException) as error:
        log.warning("invitation not mailed", error=type(error).__name__)
        return False
    return True
