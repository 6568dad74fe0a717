"""Password reset links, requested on a page and emailed by a worker.

The page stores the request for any address and sends no email, so its response time doesn't reveal whether the address
has an account. The worker creates the link, which isn't stored.
"""

from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Any

import structlog
from allauth.account import forms
from allauth.account.adapter import get_adapter
from allauth.account.utils import user_pk_to_url_str
from django.core.mail import send_mail
from django.db.models import Q
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone

from dashboard.models import PasswordResetRequest
from kit.db.card_number_fields import refuse_card_number
from kit.money.form_fields import EmailField
from kit.text.email_addresses import canonical
from merchants.models import User

log = structlog.get_logger("sluice.dashboard")

LEASE = timedelta(minutes=1)  # after a failure, also the pause until the next attempt
LIFETIME = timedelta(hours=1)  # an older request that could not be emailed is dropped
AT_ONCE = 50


class ResetPasswordForm(forms.ResetPasswordForm):
    """Request a link. The worker looks up the account of the address."""

    email = EmailField()

    def clean_email(self) -> str:
        email = canonical(self.cleaned_data["email"])
        refuse_card_number(email)
        return email

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        email: str = self.cleaned_data["email"]
        PasswordResetRequest.objects.create(email=email, requested_at=timezone.now())
        return email


def mail_due(*, now: datetime) -> int:
    """Email the requested links. Return the number of completed requests."""
    if not PasswordResetRequest.objects.exists():
        return 0  # nearly always; the rest has several statements
    PasswordResetRequest.objects.filter(requested_at__lte=now - LIFETIME).delete()
    due = PasswordResetRequest.objects.filter(Q(leased_until=None) | Q(leased_until__lte=now))
    done = 0
    for request in due.order_by("pk")[:AT_ONCE]:
        # First writer wins: another worker that has read the same row changes nothing.
        if due.filter(pk=request.pk).update(leased_until=now + LEASE) and _mail(request.email):
            request.delete()
            done += 1
    return done


def _mail(email: str) -> bool:
    """Email a link to each account with the address. Return False if it must be retried."""
    for user in forms.filter_users_by_email(email, is_active=True, prefer_verified=True, for_login=True):
        try:
            _mail_link(user)
        except (OSError, SMTPException) as error:
            log.warning("password reset not mailed", error=type(error).__name__)
            return False
    return True


def _mail_link(user: User) -> None:
    key = f"{user_pk_to_url_str(user)}-{forms.default_token_generator.make_token(user)}"
    context = {"user": user, "password_reset_url": get_adapter().get_reset_password_from_key_url(key)}
    subject = render_to_string("account/email/password_reset_key_subject.txt").strip()
    send_mail(
        subject, render_to_string("account/email/password_reset_key_message.txt", context), None, [user.email]
    )
