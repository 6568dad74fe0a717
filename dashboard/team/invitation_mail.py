"""Invitation emails. The link in the email proves the address, so it is shown nowhere else."""

import structlog
from django.conf import settings
from django.urls import reverse

from kit import mail
from kit.text.display_names import mailed, mailed_address
from merchants.models import Invitation

log = structlog.get_logger("sluice.dashboard")


def is_configured() -> bool:
    return settings.EMAIL_BACKEND != "django.core.mail.backends.dummy.EmailBackend"


def send_invitation(invitation: Invitation, *, token: str) -> bool:
    """Email the link that proves the address. Return False if the email could not be sent.

    The email names the inviter by email address, because users choose their own display names.
    """
    if not is_configured():
        return False
    inviter = invitation.invited_by
    context = {
        "inviter": mailed_address(inviter.email) if inviter else "An owner",
        "business": mailed(invitation.business.name),
        "role": invitation.get_role_display().lower(),
        "expires_at": invitation.expires_at,
        "link": settings.PUBLIC_URL + reverse("invitation", args=[token]),
    }
    return mail.send(
        f"Join {context['business']} on Sluice",
        "dashboard/team/invitation.txt",
        context,
        [invitation.email],
        log=log,
        failure="invitation not mailed",
    )
