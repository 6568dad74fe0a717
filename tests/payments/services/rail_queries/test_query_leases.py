"""Unknown outcomes are leased: one process queries each at a time, and a hanging rail delays no other."""

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db import transaction as database
from django.utils import timezone

from kit.connectors import connectors
from kit.db.clock import database_now
from payments.models import CardOperation, RailSilence, Transaction
from payments.services.rails import requery
from payments.services.rails.rail_queries import parallel_calls, query_leases, rail_outages
from payments.services.rails.rail_queries.query_leases import Lane
from payments.tasks import expire_due, requery_due
from tests import orders
from tests.factories import BusinessFactory
from tests.racing import racers
from tests.rails import HangingBank, SlowAcquirer
from tests.transactions import captured_payment, start

pytestmark = pytest.mark.django_db(transaction=True)

LOST_CARD = 50_098
AGO = timedelta(minutes=1)


@pytest.fixture
def business():
    return BusinessFactory()


@pytest.fixture
def bank(settings):
    """A bank that answers only when the test allows it, or at its end."""
    settings.PAYOUT_BANK = "tests.rails.HangingBank"
    HangingBank.hang()
    yield HangingBank
    HangingBank.may_answer.set()
    eventually(lambda: all(thread.name != "rail-call" for thread in threading.enumerate()))


def eventually(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def due_payouts(business, count):
    made = [start(orders.payout(), business=business, now=timezone.now() - AGO) for _ in range(count)]
    Transaction.objects.update(next_query_at=timezone.now() - AGO)
    return made


def due_card_payment(business):
    payment = captured_payment(business=business, now=timezone.now() - AGO, amount=LOST_CARD)
    Transaction.objects.filter(pk=payment.pk).update(next_query_at=timezone.now() - AGO)
    return payment


class SlotsOfProcesses(parallel_calls.Slots):
    """Simulates the slots of several processes: each one finds all of its slots free."""

    def take(self, lane):
        return parallel_calls.SLOTS


def run():
    """Run requery as one of several processes, each with one run at a time."""
    for _ in requery.requery_due():
        pass


def status_of(transaction):
    return Transaction.objects.get(pk=transaction.pk).status


class TestHangingBank:
    @pytest.fixture(autouse=True)
    def _short_run(self, _long_requery_time, monkeypatch):
        monkeypatch.setattr(requery, "RUN_TIME", 0.3)

    def test_is_queried_about_each_payout_by_one_of_four_runs(self, business, bank, monkeypatch):
        monkeypatch.setattr(parallel_calls, "slots", SlotsOfProcesses())
        due_payouts(business, 3)

        with racers(4) as threads:
            runs = threads.race(*[run] * 4)

        assert runs == [None] * 4
        assert len(bank.queries) == len(set(bank.queries)) == 3
        assert bank.duplicate_queries == []

    def test_has_a_limited_number_of_concurrent_queries(self, business, bank):
        due_payouts(business, 3 * parallel_calls.SLOTS)

        for _ in range(3):
            requery_due()

        assert bank.most_concurrent == parallel_calls.SLOTS

    def test_does_not_delay_queries_to_the_acquirer(self, business, bank):
        payouts = due_payouts(business, 2 * parallel_calls.SLOTS)
        payment = due_card_payment(business)

        requery_due()

        assert not bank.may_answer.is_set()
        assert status_of(payment) == "success"
        assert {status_of(payout) for payout in payouts} == {"pending"}

    def test_late_answers_are_applied(self, business, bank):
        payouts = due_payouts(business, parallel_calls.SLOTS)
        requery_due()

        bank.may_answer.set()

        eventually(lambda: {status_of(payout) for payout in payouts} == {"success"})
        assert len(bank.queries) == len(payouts)

    def test_other_payouts_are_queried_when_it_answers_again(self, business, bank):
        payouts = due_payouts(business, 3 * parallel_calls.SLOTS)
        requery_due()
        bank.may_answer.set()
        eventually(lambda: not bank.in_progress)

        eventually(lambda: requery_due() or {status_of(payout) for payout in payouts} == {"success"})

        assert len(bank.queries) == len(set(bank.queries)) == len(payouts)


class TestLease:
    def test_of_a_killed_process_expires_and_another_queries(self, business, clock, settings):
        settings.PAYOUT_BANK = "tests.rails.SlowBank"
        payout = start(orders.payout(), business=business, now=clock.now)
        clock.advance(seconds=10)
        leased = query_leases.lease(Lane("bank", "sandbox"), limit=9, at=clock.now, due_at=clock.now)
        assert [one.pk for one in leased] == [payout.pk]

        clock.now += query_leases.length() - timedelta(microseconds=1)
        requery_due()
        before = status_of(payout)
        clock.advance(microseconds=1)
        requery_due()

        assert (before, status_of(payout)) == ("pending", "success")

    def test_that_was_lost_to_another_process_postpones_nothing(self, business, clock, settings):
        """A process is suspended during its query. When it resumes, another one holds the lease."""
        settings.PAYOUT_BANK = "tests.rails.SilentBank"
        start(orders.payout(), business=business, now=clock.now)
        clock.advance(seconds=10)
        lane = Lane("bank", "sandbox")
        stopped = query_leases.lease(lane, limit=1, at=clock.now, due_at=clock.now)
        clock.now += query_leases.length()
        (current,) = query_leases.lease(lane, limit=1, at=clock.now, due_at=clock.now)

        list(requery.query_leased(stopped, clock=lambda: clock.now))

        payout = Transaction.objects.get()
        assert (payout.query_leased_until, payout.queries_made) == (current.query_leased_until, 0)

    def test_applies_to_a_capture_and_its_payment(self, api, clock, settings):
        order = orders.card_payment(capture=False)
        api.post("/api/payments", order)
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
        api.post(f"/api/payments/{order['reference']}/capture")
        clock.advance(seconds=10)
        lane = Lane("acquirer", "sandbox")

        first = query_leases.lease(lane, limit=9, at=clock.now, due_at=clock.now)
        second = query_leases.lease(lane, limit=9, at=clock.now, due_at=clock.now)

        assert [type(one) for one in first] == [CardOperation]
        assert second == []

    def test_is_held_by_the_request_that_sends_the_order(self, business, clock, settings, monkeypatch):
        """An operator's requery must not query an order that a request is sending."""
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
        seen = []

        def authorise(acquirer, order, **rest):
            seen.append(list(requery.requery(requery.unanswered(), clock=lambda: clock.now)))
            return original(acquirer, order, **rest)

        original = SlowAcquirer.authorise
        monkeypatch.setattr(SlowAcquirer, "authorise", authorise)
        connectors._made.cache_clear()  # keeps methods
        payment = captured_payment(business=business, now=clock.now)

        assert seen == [[]]
        assert [one.is_answered for one in requery.requery(requery.unanswered())] == [True]
        assert status_of(payment) == "success"
        connectors._made.cache_clear()

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no rows")
    def test_skips_rows_locked_by_a_request(self, business, settings, clock):
        settings.PAYOUT_BANK = "tests.rails.SlowBank"
        payouts = [start(orders.payout(), business=business, now=clock.now) for _ in range(2)]
        clock.advance(seconds=10)
        lane, leased = Lane("bank", "sandbox"), []

        def lease_here():
            leased.extend(query_leases.lease(lane, limit=9, at=clock.now, due_at=clock.now))
            connection.close()

        with database.atomic():
            Transaction.objects.select_for_update().get(pk=payouts[0].pk)
            other = threading.Thread(target=lease_here)
            other.start()
            other.join(10)

        assert [one.pk for one in leased] == [payouts[1].pk]


class TestMoments:
    def test_each_answer_has_its_own_time(self, business, settings):
        """If the start of the run dated its answers, the last ones would be dated too early."""
        settings.PAYOUT_BANK = "tests.rails.SlowBank"
        for _ in range(3):
            start(orders.payout(), business=business, now=timezone.now())
        ticks = iter(datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(seconds=number) for number in range(99))

        list(requery.query_leased(requery.unanswered(), clock=lambda: next(ticks)))

        moments = Transaction.objects.values_list("finished_at", flat=True)
        assert len(set(moments)) == 3

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has the clock of its process")
    @pytest.mark.parametrize("skew", [timedelta(seconds=11), timedelta(days=8), -timedelta(seconds=11)])
    def test_wrong_clock_of_a_host_has_no_effect(self, api, settings, monkeypatch, skew):
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
        api.post("/api/payments", orders.card_payment())
        settings.CARD_ACQUIRER = "payments.rails.sandbox.SandboxAcquirer"
        api.post("/api/payments", orders.card_payment(capture=False))
        created_at = database_now()
        monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + skew)

        requery_due()
        expire_due()

        assert set(Transaction.objects.values_list("status", "awaiting")) == {
            ("pending", "rail"),
            ("pending", "capture"),
        }
        due = Transaction.objects.get(awaiting="rail").next_query_at
        assert timedelta(seconds=5) < due - created_at <= timedelta(seconds=10)


class TestOutage:
    BANK = Lane("bank", "sandbox")

    def lose(self, business, clock, *, questions):
        """Create a payout after this number of unanswered queries."""
        payout = start(orders.payout(), business=business, now=clock.now)
        for _ in range(questions):
            payout.refresh_from_db()
            clock.now = payout.next_query_at
            requery_due()
        payout.refresh_from_db()
        return payout

    def test_end_makes_all_waiting_queries_due(self, business, clock, settings):
        settings.PAYOUT_BANK = "tests.rails.SilentBank"
        old = self.lose(business, clock, questions=4)
        assert old.next_query_at - clock.now == timedelta(minutes=30)
        start(orders.payout(), business=business, now=clock.now)
        settings.PAYOUT_BANK = "payments.rails.sandbox.SandboxBank"

        clock.advance(seconds=10)
        requery_due()

        assert set(Transaction.objects.values_list("status", flat=True)) == {"success"}
        assert not RailSilence.objects.exists()

    def test_is_probed_once_a_minute(self, business, clock, settings):
        settings.PAYOUT_BANK = "tests.rails.SilentBank"
        payout = self.lose(business, clock, questions=3)
        settings.PAYOUT_BANK = "payments.rails.sandbox.SandboxBank"

        clock.now += rail_outages.PROBE_INTERVAL
        requery_due()

        assert status_of(payout) == "success"

    def test_is_probed_by_one_process_at_a_time(self, business, clock, settings):
        settings.PAYOUT_BANK = "tests.rails.SilentBank"
        self.lose(business, clock, questions=2)
        clock.now += rail_outages.PROBE_INTERVAL

        outage = RailSilence.objects.get()
        assert rail_outages.may_probe(outage, now=clock.now)
        assert not rail_outages.may_probe(outage, now=clock.now)

    def test_of_a_single_answer_brings_nothing_forward(self, business, clock):
        rail_outages.record_outage(self.BANK, now=clock.now)
        clock.advance(seconds=5)

        assert rail_outages.end_outage(self.BANK, now=clock.now) == 0
        assert not RailSilence.objects.exists()

    def test_ignores_outcomes_that_were_unknown_long_before(self, business, clock, settings):
        """A transaction that its rail never answers is queried less and less often, even if others
        are answered.
        """
        settings.PAYOUT_BANK = "tests.rails.SilentBank"
        stuck = self.lose(business, clock, questions=8)
        assert clock.now - stuck.created_at > rail_outages.BEFORE_OUTAGE
        RailSilence.objects.update(since=clock.now, probed_at=clock.now)
        settings.PAYOUT_BANK = "payments.rails.sandbox.SandboxBank"

        clock.now += rail_outages.PROBE_INTERVAL
        requery_due()
        probed = status_of(stuck)
        settings.PAYOUT_BANK = "tests.rails.SlowBank"
        answered = start(orders.payout(), business=business, now=clock.now)
        clock.advance(seconds=10)
        requery_due()

        assert status_of(answered) == "success"
        assert not RailSilence.objects.exists()
        assert (probed, status_of(stuck)) == ("pending", "pending")
        stuck.refresh_from_db()
        assert stuck.queries_made == 8

    def test_is_probed_once_a_minute_however_long_it_lasts(self, business, clock):
        rail_outages.record_outage(self.BANK, now=clock.now)
        probes = 0
        for _ in range(12 * 60):
            clock.advance(seconds=30)
            probes += rail_outages.may_probe(RailSilence.objects.get(), now=clock.now)

        assert probes == 6 * 60
