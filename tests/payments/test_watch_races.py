"""Concurrent changes of watched payments and of accepted captures. Each test names the lock without which it fails on
PostgreSQL.

On SQLite, a writing transaction locks the whole database.
"""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import connection

from kit.api.replays import IdempotentResult
from ledger.invariants import check
from ledger.models import Entry
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, InvalidState, WatchedAuthorisation
from payments.services.cards import captures, late_charges
from payments.services.rails import requery, watch_looks
from payments.services.transactions import cancellations, expiry, operations
from payments.services.transactions.transitions import Cause
from tests.by_refund_acquirer import (
    ACCEPTED,
    APPROVED,
    BY_REFUND,
    DONE,
    LOST,
    REDIRECT,
    UNKNOWN,
    ByRefundAcquirer,
)
from tests.factories import BusinessFactory
from tests.racing import racers
from tests.transactions import authorised_payment, captured_payment

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer"),
]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TURNS = 20


@pytest.fixture
def business():
    return BusinessFactory()


@pytest.fixture(autouse=True)
def acquirer(settings):
    settings.CARD_ACQUIRER = BY_REFUND
    ByRefundAcquirer.begin()
    return ByRefundAcquirer


def watched_payment(business):
    ByRefundAcquirer.answers("authorise", LOST)
    ByRefundAcquirer.answers("query", UNKNOWN)
    payment = captured_payment(business=business, now=NOON)
    list(requery.requery([payment], is_time_over=True))
    return payment


def watch_of(payment):
    return WatchedAuthorisation.objects.select_related("transaction__business").get(transaction=payment)


def assert_consistent():
    assert {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds} == {}


class TestALook:
    def test_has_one_reversal_sent(self, business, acquirer):
        """Tests the lock in `watch_looks._lease`: a look and a webhook's query don't both find a charge."""
        with racers(3) as threads:
            for _ in range(TURNS):
                payment = watched_payment(business)
                acquirer.calls.clear()
                acquirer.answers("query", APPROVED)
                acquirer.answers("reverse", DONE)

                looked = threads.race(*[partial(watch_looks.look_at, payment.pk)] * 3)

                assert looked.count(True) >= 1
                assert acquirer.count("reverse") == 1
                assert watch_of(payment).returned_at is not None
        assert_consistent()

    def test_that_finds_a_charge_is_never_overruled(self, business):
        """Tests the lock in `late_charges._locked`: the acquirer's refusal may overtake its approval."""
        with racers(2) as threads:
            for _ in range(TURNS):
                payment = watched_payment(business)

                ended, found = threads.race(
                    partial(late_charges.record_failure, watch_of(payment), now=NOON),
                    partial(late_charges.record_charge, watch_of(payment), APPROVED, now=NOON),
                )

                watch = watch_of(payment)
                assert (ended, type(found)) == (None, WatchedAuthorisation)
                assert (watch.is_open, watch.is_owed) == (True, True)
        assert_consistent()

    def test_books_a_charge_and_its_return_once(self, business):
        """Tests the lock in `late_charges._locked`."""
        with racers(4) as threads:
            for _ in range(TURNS):
                payment = watched_payment(business)
                late_charges.record_charge(watch_of(payment), APPROVED, now=NOON)
                moments = [NOON + timedelta(seconds=second) for second in range(4)]

                threads.race(
                    *[partial(late_charges.record_return, watch_of(payment), now=at) for at in moments]
                )

                watch = watch_of(payment)
                out = Entry.objects.get(cause=watch.pk, kind="late_charge_out")
                assert watch.returned_at == out.at
        assert_consistent()


class TestAnAcceptedCapture:
    def test_is_applied_once_by_its_wait_and_by_requery(self, business, acquirer):
        """Tests the lock in `operations.apply_answer`."""
        acquirer.answers("authorise", APPROVED)
        acquirer.answers("operate", ACCEPTED)
        acquirer.answers("query_operation", APPROVED)
        with racers(2) as threads:
            for _ in range(TURNS):
                payment = authorised_payment(business=business, now=NOON)
                captures.capture(transaction_id=payment.pk, amount=None, now=NOON)
                operation = CardOperation.objects.select_related("transaction__business").get(
                    transaction=payment
                )
                apply = partial(operations.apply_answer, operation_id=operation.pk, answer=APPROVED, now=NOON)

                waited, queried = threads.race(
                    partial(apply, cause=Cause.MERCHANT),
                    lambda: list(requery.query_leased([operation])),  # noqa: B023
                )

                assert waited.status == "success"
                assert [one.is_answered for one in queried] == [True]
                assert Entry.objects.filter(cause=payment.pk).count() == 1
        assert_consistent()


class TestACancellation:
    def test_against_a_success_leaves_no_charge_of_a_failed_payment(self, business, acquirer):
        """Tests the lock in `cancellations.cancel`: the page closes, or the payment is cancelled and watched."""
        acquirer.answers("authorise", REDIRECT)
        acquirer.answers("query", APPROVED)
        acquirer.answers("reverse", DONE)
        outcomes = set()
        with racers(2) as threads:
            for _ in range(TURNS):
                payment = captured_payment(business=business, now=NOON)
                end = payment.expires_at
                cancel = partial(
                    cancellations.cancel,
                    transaction_id=payment.pk,
                    clock=lambda: end - timedelta(microseconds=1),  # noqa: B023
                )

                cancelled, closed = threads.race(cancel, partial(expiry.expire_one, payment.pk, now=end))
                list(requery.requery(requery.unanswered(), clock=lambda: end))  # noqa: B023

                payment.refresh_from_db()
                outcomes.add(payment.response_code)
                if payment.response_code == "20091":
                    assert (type(cancelled), closed) == (IdempotentResult, False)
                    assert watch_looks.look_at(payment.pk)
                    assert watch_of(payment).returned_at is not None
                else:
                    assert (type(cancelled), closed) == (InvalidState, True)
                    assert payment.response_code == "10000"
                    assert not WatchedAuthorisation.objects.filter(transaction=payment).exists()
        assert outcomes <= {"20091", "10000"}
        assert_consistent()
