"""Concurrent settlement, refunds and decisions. Each test names the lock or constraint that it needs."""

import threading
import time
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from functools import partial

import psycopg
import pytest
from django.db import connection
from django.db.models import Count, Sum
from django.utils import timezone

from ledger import services as ledger
from ledger.models import Entry
from payments.models import SettlementBatch, SettlementItem, Transaction
from payments.rules.settlement import business_days
from payments.services.replays import idempotency
from payments.services.settlement.batches import batch_decisions, batches
from tests.factories import BusinessFactory
from tests.racing import racers
from tests.settling import STAFF, decide, settle
from tests.transactions import captured_payment, refund

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]


@pytest.fixture
def business():
    return BusinessFactory()


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(batches, "CHUNK", 2)


def pay(business, count=1, **changes):
    return [captured_payment(business=business, now=timezone.now(), **changes) for _ in range(count)]


def live_payments():
    return SettlementItem.objects.filter(is_live=True, operation=None)


class TestSettle:
    @pytest.mark.long
    def test_by_three_concurrent_operators_creates_one_batch(self, business):
        """Tests the lock on the batch being built, and the constraint that there is only one."""
        with racers(3) as threads:
            for turn in range(1, 16):
                pay(business, 5)

                threads.race(settle, settle, settle)

                assert SettlementBatch.objects.count() == turn
                assert set(SettlementBatch.objects.values_list("state", "payments_count")) == {("pending", 5)}
                assert live_payments().count() == Transaction.objects.count() == 5 * turn
        twice = live_payments().values("transaction").annotate(times=Count("id")).filter(times__gt=1)
        assert not twice.exists()

    def test_during_new_payments_leaves_none_behind(self, business):
        """Tests that a batch is completed only if no payments are left."""
        with racers(3) as threads:
            for _ in range(10):
                threads.race(settle, partial(pay, business, 3), partial(pay, business, 3))
            settle()

        assert set(Transaction.objects.values_list("settle_status", flat=True)) == {"pending"}
        assert live_payments().count() == 60

    @pytest.mark.long
    def test_with_a_concurrent_refund_nets_it_once(self, business):
        """Tests that refunds are netted at completion, and only by one batch."""
        netted_at_once = set()
        with racers(2) as threads:
            for turn in range(1, 31):
                (payment,) = pay(business, amount=100_000)

                made, _ = threads.race(settle, partial(refund, payment, 10_000))
                netted_at_once.add(made[0].refunds)

                pay(business)
                settle()
                netted = SettlementItem.objects.aggregate(sum=Sum("refunded"))["sum"]
                assert netted == 10_000 * turn
        assert netted_at_once <= {0, 10_000, 20_000}


class TestDaysEnd:
    """Two runs over the end of a business day: one for the past day, and one for both."""

    TODAY = date(2026, 3, 10)  # in Lagos; midnight is 23:00 UTC
    MIDNIGHT = datetime(2026, 3, 9, 23, tzinfo=UTC)

    def pay_at(self, business, moment):
        """Store a payment that finished at a time of that day, instead of the database's time."""
        payment = captured_payment(business=business, now=timezone.now(), amount=50_000)
        Transaction.objects.filter(pk=payment.pk).update(finished_at=moment)

    def settle_until(self, day):
        work = batches.due(until=day)
        return {step.batch.pk for step in batches.settle(work, actor="settle", now=timezone.now())}

    def pay_around_midnight(self, business, count):
        for number in range(count):
            for before in (True, False):
                moment = self.MIDNIGHT + timedelta(microseconds=-1 - number if before else number)
                self.pay_at(business, moment)

    def test_put_each_payment_into_one_batch_of_its_day(self, business):
        """Tests the lock on the batch being built, which may be the other run's for the other day."""
        yesterday = self.TODAY - timedelta(days=1)
        with racers(3) as threads:
            for turn in range(1, 9):
                self.pay_around_midnight(business, 3)

                answers = threads.race(
                    partial(self.settle_until, yesterday),
                    partial(self.settle_until, self.TODAY),
                    partial(self.settle_until, self.TODAY),
                )

                assert not [one for one in answers if isinstance(one, Exception)]
                assert live_payments().count() == 6 * turn
        twice = live_payments().values("transaction").annotate(times=Count("id")).filter(times__gt=1)
        assert not twice.exists()
        for item in live_payments().select_related("batch", "transaction"):
            assert business_days.business_day(item.transaction.finished_at) == item.batch.day
        for batch in SettlementBatch.objects.all():
            items = batch.items.aggregate(gross=Sum("gross"), fees=Sum("fee"))
            assert (batch.state, batch.gross, batch.fees) == ("pending", items["gross"], items["fees"])
        assert Transaction.objects.aggregate(fees=Sum("fee")) == SettlementItem.objects.aggregate(
            fees=Sum("fee")
        )

    def test_leave_no_late_payment_behind(self, business):
        """The payment finished before midnight and was committed after the day's batch was created."""
        yesterday = self.TODAY - timedelta(days=1)
        with racers(3) as threads:
            for number in range(8):
                moment = self.MIDNIGHT - timedelta(microseconds=1 + number)
                threads.race(
                    partial(self.settle_until, yesterday),
                    partial(self.settle_until, self.TODAY),
                    partial(self.pay_at, business, moment),
                )
        self.settle_until(yesterday)

        assert live_payments().count() == Transaction.objects.count() == 8
        assert set(SettlementBatch.objects.values_list("day", "state")) == {(yesterday, "pending")}


class TestDecisions:
    def test_by_two_people_count_once(self, business):
        """Tests the lock in `batch_transitions.lock`."""
        with racers(2) as threads:
            for _ in range(15):
                pay(business)
                (batch,) = settle()

                threads.race(partial(decide_on, batch, "approve"), partial(decide_on, batch, "reject"))

                batch.refresh_from_db()
                assert batch.transitions.count() == 3
                assert set(states_of(batch)) == {batch.state}
                if batch.state == "rejected":
                    settle()

    def test_two_concurrent_releases_pay_once(self, business):
        """Tests the lock in `batch_transitions.lock`, and the unique cause of the entry."""
        with racers(3) as threads:
            for turn in range(1, 16):
                pay(business, amount=50_000)
                (batch,) = settle()
                decide(batch, "approve")

                threads.race(*[partial(decide_on, batch, "release")] * 3)

                (naira, *_) = ledger.balances(business)
                assert (naira.pending, naira.available) == (0, 49_250 * turn)
        assert Entry.objects.filter(kind=Entry.Kind.SETTLEMENT_RELEASED).count() == 15

    @pytest.mark.long
    def test_with_concurrent_refunds_do_not_deadlock(self, business):
        """Tests the lock order: payments first, ledger accounts last."""
        with racers(3) as threads:
            for turn in range(1, 16):
                payments = pay(business, 4, amount=50_000)
                (batch,) = settle()
                decide(batch, "approve")

                answers = threads.race(
                    partial(decide_on, batch, "release"),
                    *[partial(refund, payment, 1_000) for payment in payments[:2]],
                )

                assert not [one for one in answers if isinstance(one, Exception)]
                (naira, *_) = ledger.balances(business)
                assert naira.pending + naira.available == turn * (4 * 49_250 - 2_000)


def decide_on(batch, decision):
    reason = {"reason": "wrong"} if decision == "reject" else {}
    return getattr(batch_decisions, decision)(batch.pk, actor=STAFF, now=timezone.now(), **reason)


def states_of(batch):
    return Transaction.objects.filter(pk__in=batch.items.values("transaction")).values_list(
        "settle_status", flat=True
    )


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no rows")
class TestOrderOfLocks:
    def test_is_that_of_the_erasure_of_hashes(self, business):
        """Two payments that finished in another order than they began; the erasure waits for the first one."""
        first, second = pay(business, 2)
        day_ago = timezone.now() - timedelta(hours=25)
        Transaction.objects.update(created_at=day_ago)
        Transaction.objects.filter(pk=first.pk).update(finished_at=second.finished_at + timedelta(seconds=1))

        with racers(2) as threads, held(first) as release:
            outcomes = threads.race(
                lambda: list(idempotency.erase_card_number_hashes(now=timezone.now())),
                partial(settle_behind, release),
            )

        assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []


@contextmanager
def held(row):
    """Lock a row in another session, until the function that is yielded is called."""
    where = {name: connection.settings_dict[name.upper()] for name in ("user", "password", "host", "port")}
    with psycopg.connect(dbname=connection.settings_dict["NAME"], **where) as other:
        other.execute("SELECT 1 FROM payments_transaction WHERE id = %s FOR UPDATE", [row.pk])
        yield other.rollback


def settle_behind(release):
    """Settle while the erasure waits; release what it waits for once the settlement waits too."""
    wait_for_waiting(1)
    threading.Thread(target=release_once_both_wait, args=[release]).start()
    return settle()


def release_once_both_wait(release):
    try:
        wait_for_waiting(2)
    finally:
        release()
        connection.close()


def wait_for_waiting(count):
    """Wait until so many sessions wait for a lock."""
    with connection.cursor() as cursor:
        for _ in range(500):
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            if cursor.fetchone()[0] >= count:
                break
            time.sleep(0.01)
