"""Deliveries as lists show them, with what each is about and its last response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from kit.db import clock
from kit.money.money import money
from payments.services.events.event_subjects import Subject, subjects_of
from webhooks.models import Attempt, Delivery
from webhooks.sending.retry_schedule import delays_of

MOST_ATTEMPTS = 2**31 - 1  # of the column

_NAMES = {"transfer": "Unapplied transfer", "settlement": "Settlement"}


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    delivery: Delivery
    about: str
    amount: str  # of the event; empty if it is about no money
    last_attempt: Attempt | None
    shows_next: bool  # whether any row of the page has a next attempt, and so a column for it

    @property
    def attempts(self) -> str:
        """Return the number of attempts, and of how many if an automatic one follows."""
        delivery = self.delivery
        if delivery.state == Delivery.State.WAITING and not delivery.is_manual:
            return f"{delivery.attempts_count} of {last_attempt_of(delivery)}"
        return str(delivery.attempts_count)

    @property
    def selection(self) -> str:
        """Return the value of the row's checkbox: the delivery and its attempts. Empty if it can't be resent."""
        delivery = self.delivery
        if not delivery.is_resendable(at=clock.now()) or delivery.is_test:
            return ""
        return f"{delivery.pk}.{delivery.attempts_count}"


def last_attempt_of(delivery: Delivery) -> int:
    """Return the number of the last automatic attempt. Manual attempts are counted, but take none of the automatic ones."""
    return len(delays_of(settings.WEBHOOK_RETRY_DELAYS)) + delivery.manual_attempts


def selected(values: Sequence[str]) -> dict[UUID, int]:
    """Return the deliveries of checked boxes with the number of attempts they had. Invalid values are left out.

    >>> selected(["x", "00000000-0000-0000-0000-000000000001.3", "00000000-0000-0000-0000-000000000001.x"])
    {UUID('00000000-0000-0000-0000-000000000001'): 3}
    """
    found = {}
    for value in values:
        key, _, attempts = value.partition(".")
        try:
            found[UUID(key)] = min(int(attempts), MOST_ATTEMPTS)
        except ValueError:
            continue
    return found


def rows_of(deliveries: Sequence[Delivery]) -> list[DeliveryRow]:
    """Return a page of deliveries as rows. The number of queries doesn't depend on their number."""
    subjects = subjects_of(deliveries)
    attempts = Attempt.objects.filter(delivery__in=[each.pk for each in deliveries]).defer("excerpt")
    last = {attempt.delivery_id: attempt for attempt in attempts.order_by("number")}
    shows_next = any(each.state == Delivery.State.WAITING for each in deliveries)
    return [
        DeliveryRow(
            each,
            _about(each, subjects.get(each.pk)),
            _amount(subjects.get(each.pk)),
            last.get(each.pk),
            shows_next,
        )
        for each in deliveries
    ]


def _about(delivery: Delivery, subject: Subject | None) -> str:
    if subject is None:
        return "Test event" if delivery.is_test else ""
    return subject.reference or _NAMES.get(subject.type, "")


def _amount(subject: Subject | None) -> str:
    return money(subject.amount, subject.currency) if subject is not None and subject.amount else ""
