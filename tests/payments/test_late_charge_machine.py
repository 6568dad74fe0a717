"""Random faults of a provider that takes back only what it knows, compared with its own books after every step.

LATE_CHARGE_SEEDS=2000 plays more of them.
"""

import os
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

import pytest

from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import InvalidState, Transaction, WatchedAuthorisation
from payments.rails.protocol import CardOrder, RailAnswer
from payments.services.transactions import cancellations
from payments.tasks import expire_due, look_at_watches, requery_due
from tests.by_refund_acquirer import (
    APPROVED,
    DECLINED,
    LOST,
    PARTLY,
    PENDING,
    REDIRECT,
    UNKNOWN,
    ByRefundAcquirer,
)
from tests.factories import BusinessFactory
from tests.transactions import captured_payment

pytestmark = [pytest.mark.django_db, pytest.mark.long]

SEEDS = int(os.environ.get("LATE_CHARGE_SEEDS", "4"))
STEPS = 40


@dataclass
class Record:
    """An order in the provider's books."""

    state: str  # pending, redirect, approved, partly, declined, returned
    is_visible: bool = True  # to queries

    @property
    def is_charged(self) -> bool:
        return self.state in {"approved", "partly"}


class Provider(ByRefundAcquirer):
    """A provider that loses answers, shows an order late, and reverses what it shows, sometimes without saying so."""

    dice: ClassVar[random.Random]
    books: ClassVar[dict[UUID, Record]] = {}
    is_silent = False
    ANSWERS: ClassVar = {
        "pending": PENDING,
        "redirect": REDIRECT,
        "approved": APPROVED,
        "partly": PARTLY,
        "declined": DECLINED,
        "returned": DECLINED,
    }

    def authorise(self, order: CardOrder, **_: Any) -> RailAnswer:
        state = self.dice.choice(
            ["approved", "approved", "partly", "declined", "redirect", "pending", "never"]
        )
        if state != "never":
            self.books[order.id] = Record(state, is_visible=self.dice.random() < 0.7)
        record = self.books.get(order.id)
        if record is None or not record.is_visible or self.dice.random() < 0.3:
            raise LOST
        return self.ANSWERS[state]

    def query(self, order: CardOrder) -> RailAnswer:
        return self.ANSWERS[self._found(order).state]

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        record = self._found(order)
        luck = self.dice.random()
        if luck < 0.2:
            raise LOST  # and without effect
        if record.is_charged:
            record.state = "returned"
        if luck < 0.4:
            raise LOST

    def _found(self, order: CardOrder) -> Record:
        record = self.books.get(order.id)
        if self.is_silent:
            raise LOST
        if record is None or not record.is_visible:
            raise UNKNOWN
        return record


@pytest.fixture
def business():
    return BusinessFactory()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_failed_payment_stays_charged(seed, business, clock, settings):
    settings.CARD_ACQUIRER = f"{__name__}.{Provider.__name__}"
    Provider.dice = dice = random.Random(seed)
    Provider.books.clear()
    Provider.is_silent = False
    for _ in range(STEPS):
        dice.choice([pay, pay, act, act, cancel, be_silent, wait, wait])(business, clock, dice)
        assert_agreed()

    Provider.is_silent = False
    for order, record in Provider.books.items():
        if record.state == "pending" or (not record.is_visible and not is_cared_for(order)):
            record.state = "declined"
        record.is_visible = True
    for _ in range(200):
        wait(business, clock, dice)
    assert_agreed()
    charged = {order for order, record in Provider.books.items() if record.is_charged}
    assert charged == set(Transaction.objects.filter(status="success").values_list("pk", flat=True))
    assert not Transaction.objects.filter(status="pending").exists()
    assert not WatchedAuthorisation.objects.filter(found_at__isnull=False, returned_at__isnull=True).exists()
    assert {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds} == {}


def pay(business, clock, _dice):
    captured_payment(business=business, now=clock.now)


def act(_business, _clock, dice):
    """Show an order, or let the payer or the issuer decide about one."""
    undecided = [
        record
        for order, record in Provider.books.items()
        if is_cared_for(order) and (not record.is_visible or record.state in {"pending", "redirect"})
    ]
    if not undecided:
        return
    record = dice.choice(undecided)
    if not record.is_visible:
        record.is_visible = True
    else:
        record.state = dice.choice(["approved", "declined"])


def is_cared_for(order):
    """Return whether a payment is pending or watched. A provider that acts after seven days is not a case of this test."""
    payment = Transaction.objects.get(pk=order)
    return payment.is_pending or payment.watches.open().exists()


def cancel(_business, clock, dice):
    waiting = list(Transaction.objects.filter(awaiting="payer").order_by("pk"))
    if waiting:
        with suppress(InvalidState):  # its time is over
            cancellations.cancel(transaction_id=dice.choice(waiting).pk, clock=lambda: clock.now)


def be_silent(_business, _clock, _dice):
    Provider.is_silent = not Provider.is_silent


WAITS = [
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=16),
    timedelta(hours=1),
    timedelta(hours=13),
]


def wait(_business, clock, dice):
    clock.now += dice.choice(WAITS)
    task: Callable[[], None]
    for task in (expire_due, requery_due, look_at_watches):
        task()


def assert_agreed():
    """A charge of a failed payment is watched, and a successful payment is charged."""
    for payment in Transaction.objects.all():
        record = Provider.books.get(payment.pk)
        is_charged = record is not None and record.is_charged
        if payment.status == "failed" and is_charged:
            assert payment.watches.open().exists()
        if payment.status == "success":
            assert is_charged
