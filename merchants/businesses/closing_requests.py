"""Requests of owners to close their business. Staff close it by two people; until then the request can be withdrawn."""

from datetime import datetime

from django.db import transaction

from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor


@transaction.atomic
def request_closing(*, business: Business, actor: Actor, now: datetime) -> bool:
    """Ask staff to close a business. Returns False if that was requested before."""
    return _change(business, actor=actor, now=now, requested_at=now)


@transaction.atomic
def withdraw(*, business: Business, actor: Actor, now: datetime) -> bool:
    """Withdraw the request. Returns False if there is none."""
    return _change(business, actor=actor, now=now, requested_at=None)


def _change(business: Business, *, actor: Actor, now: datetime, requested_at: datetime | None) -> bool:
    is_request = requested_at is not None
    other_state = Business.objects.filter(pk=business.pk, closing_requested_at__isnull=is_request)
    if not other_state.update(closing_requested_at=requested_at):
        return False
    audit.record(
        action="business.closing_requested" if is_request else "business.closing_withdrawn",
        actor=actor,
        business=business,
        target=str(business.pk),
        now=now,
    )
    return True
