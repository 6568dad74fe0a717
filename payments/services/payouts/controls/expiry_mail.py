"""E-mail to owners and finance about payouts that failed because they were not approved within 72 hours.

At most one an hour for a business: a program may have made hundreds.
"""

from datetime import datetime, timedelta

import structlog
from django.conf import settings

from kit import mail
from kit.text.display_names import mailed
from kit.text.plurals import counted
from merchants.models import Business
from merchants.people import notifications
from payments.models import PayoutApproval

log = structlog.get_logger("sluice.payouts")

APART = timedelta(hours=1)


def send(business: Business, *, number: int, now: datetime) -> None:
    """Email how many payouts have just failed. A mail that can't be sent is only logged: the pages show the same."""
    earlier = PayoutApproval.objects.filter(
        business=business,
        transaction__isnull=False,
        state=PayoutApproval.State.EXPIRED,
        decided_at__gt=now - APART,
        decided_at__lt=now,
    )
    if earlier.exists():
        return
    name = mailed(business.name)
    mail.send(
        f"Payouts of {name} were not approved in time",
        "payments/payouts_expired.txt",
        {
            "business": name,
            "payouts": counted(number, "payout"),
            "link": f"{settings.PUBLIC_URL}/dashboard/payouts/?status=failed",
        },
        notifications.recipients(business, notifications.Kind.BATCHES),
        log=log,
        failure="expired payouts not mailed",
    )
