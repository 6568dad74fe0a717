"""Emails to owners and finance about a batch that waits for money."""

import structlog
from django.conf import settings

from kit import mail
from kit.money.money import money
from kit.text.display_names import mailed
from merchants.people import notifications
from payout_batches import summaries
from payout_batches.models import PayoutBatch

log = structlog.get_logger("sluice.payout_batches")


def mail_held(batch: PayoutBatch) -> None:
    """Email that the rest of a batch waits for money."""
    missing = money(summaries.shown(batch).missing, batch.currency)
    _mail(batch, "wait for money", "payout_batches/held.txt", missing=missing)


def mail_expired(batch: PayoutBatch) -> None:
    """Email that a batch was cancelled, because it was not approved in time."""
    _mail(batch, "were cancelled", "payout_batches/expired.txt")


def _mail(batch: PayoutBatch, happened: str, template: str, **context: str) -> None:
    """Email who may pay out. A mail that can't be sent is only logged: the pages show the same."""
    business = mailed(batch.business.name)
    link = f"{settings.PUBLIC_URL}/dashboard/payouts/batches/{batch.pk}/"
    known = {"business": business, "title": mailed(batch.title), "link": link}
    mail.send(
        f"Payouts of {business} {happened}",
        template,
        known | context,
        notifications.recipients(batch.business, notifications.Kind.BATCHES),
        log=log,
        failure="batch not mailed",
    )
