"""E-mails of plain text. The state that they report is on pages too, so that a lost one loses nothing."""

from collections.abc import Iterable
from smtplib import SMTPException
from typing import Any

from django.core.mail import send_mail
from django.template.loader import render_to_string
from structlog.typing import FilteringBoundLogger


def send(
    subject: str,
    template: str,
    context: dict[str, Any],
    recipients: Iterable[str],
    *,
    log: FilteringBoundLogger,
    failure: str,
) -> bool:
    """Email a rendered template. If the mail server fails, log `failure` and return False."""
    addresses = list(recipients)
    if not addresses:
        return True
    try:
        send_mail(subject, render_to_string(template, context), None, addresses)
    except (OSError, SMTPException) as error:
        log.warning(failure, error=type(error).__name__)
        return False
    return True
