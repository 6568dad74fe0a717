"""Retention of what payers entered at payment links. Links and payments are kept.

A checkout without an attempt is deleted. Of one that was not paid, everything that the payer entered is erased after
`CHECKOUT_RETENTION` days; of a paid one, after `CHECKOUT_PAID_RETENTION` days, name and email are kept.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from payments.models import Checkout, LinkCardAttempt, LinkDay, Transaction

PIECE = 1_000  # rows
DAYS_KEPT = timedelta(days=400)  # of counts
OF_PAYERS: dict[str, Any] = {"phone": "", "answers": {}, "address": None, "network": "", "is_erased": True}
WITH_NAMES: dict[str, Any] = OF_PAYERS | {"name": "", "email": ""}


def unused(*, now: datetime) -> QuerySet[Checkout]:
    """Return old checkouts without an attempt."""
    return _old(now - timedelta(days=settings.CHECKOUT_RETENTION)).filter(~Exists(_attempts()))


def unpaid(*, now: datetime) -> QuerySet[Checkout]:
    """Return old checkouts with attempts, none of which succeeded or is pending."""
    old = _old(now - timedelta(days=settings.CHECKOUT_RETENTION))
    alive = _attempts().exclude(status=Transaction.Status.FAILED)
    return old.filter(Exists(_attempts()), ~Exists(alive))


def paid(*, now: datetime) -> QuerySet[Checkout]:
    """Return paid checkouts whose data is no longer needed."""
    old = _old(now - timedelta(days=settings.CHECKOUT_PAID_RETENTION))
    return old.filter(Exists(_attempts().filter(status=Transaction.Status.SUCCESS)))


def erase_unpaid(*, now: datetime) -> Iterator[int]:
    """Erase what payers entered and did not pay. Yield the number of each batch."""
    yield from _erase(unpaid(now=now), WITH_NAMES)


def erase_paid(*, now: datetime) -> Iterator[int]:
    """Erase phone, answers and address of old paid checkouts. Yield the number of each batch."""
    yield from _erase(paid(now=now), OF_PAYERS)


def old_days(*, now: datetime) -> QuerySet[LinkDay]:
    return LinkDay.objects.filter(day__lt=(now - DAYS_KEPT).date())


def old_card_attempts(*, now: datetime) -> QuerySet[LinkCardAttempt]:
    return LinkCardAttempt.objects.filter(ends_at__lt=now)


def _old(before: datetime) -> QuerySet[Checkout]:
    return Checkout.objects.with_personal_data().filter(created_at__lt=before)


def _attempts() -> QuerySet[Transaction]:
    return Transaction.objects.filter(checkout=OuterRef("pk"))


def _erase(old: QuerySet[Checkout], erased: dict[str, Any]) -> Iterator[int]:
    while keys := list(old.order_by("created_at").values_list("pk", flat=True)[:PIECE]):
        yield Checkout.objects.filter(pk__in=keys).update(**erased)
