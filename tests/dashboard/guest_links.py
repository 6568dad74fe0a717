"""Guest links, made as members make them."""

from datetime import datetime

from django.utils import timezone

from dashboard.models import GuestLink
from dashboard.statements import guest_links
from dashboard.statements.months import Month
from merchants.models import Business, User
from merchants.people.audit import Actor


def guest_link_of(
    maker: User,
    business: Business,
    *,
    months: tuple[Month, Month] | None = None,
    days: int = 30,
    now: datetime | None = None,
) -> tuple[GuestLink, str]:
    """Return a link and its token. `months`: first and last, by default the current one."""
    now = now or timezone.now()
    current = Month.of(now.astimezone(business.zone).date())
    first, last = months or (current, current)
    return guest_links.create(
        business=business,
        name="Auditors",
        first=first,
        last=last,
        valid_days=days,
        maker=maker,
        actor=Actor(name=maker.email),
        now=now,
    )
