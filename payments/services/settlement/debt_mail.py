"""Emails to owners and finance about what was set off against their debt."""

import structlog
from django.conf import settings

from kit import mail
from kit.money.money import money
from kit.text.display_names import mailed
from merchants.models import Business, Member

log = structlog.get_logger("sluice.settlement")

NOTIFIED = (Member.Role.OWNER, Member.Role.FINANCE)


def mail_collected(business: Business, amount: int, currency: str, *, reason: str) -> None:
    """Email that a part of the reserve was set off. A mail that can't be sent is only logged: the statement shows the same."""
    name, collected = mailed(business.name), money(amount, currency)
    mail.send(
        f"{collected} of the reserve of {name} was set off",
        "payments/reserve_collected.txt",
        {
            "business": name,
            "amount": collected,
            "reason": reason,
            "link": f"{settings.PUBLIC_URL}/dashboard/balance/?currency={currency}",
        },
        Member.objects.active(business, NOTIFIED).addresses(),
        log=log,
        failure="collection of a reserve not mailed",
    )
