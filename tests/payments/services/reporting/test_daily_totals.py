"""Past days are counted once, and totals of any time zone's days always equal the plain sums."""

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from importlib import import_module
from itertools import combinations_with_replacement
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from freezegun import freeze_time
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from kit.time.time_zones import day_begins, names
from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import CountedDay, HourlyTotals, Transaction
from payments.services.cards import captures
from payments.services.refunds import refunds
from payments.services.reporting import daily_totals
from tests import orders
from tests.factories import BusinessFactory
from tests.payments.test_state_machine import AMOUNTS, WAYS, Payments
from tests.racing import racers
from tests.state_machines import run_machine
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)  # two days after the clocks of New York went forward
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
# East and west of UTC, those furthest from it, and two whose clocks change: one of them at midnight.
ZONES = (
    "Africa/Lagos", "America/New_York", "America/Santiago", "Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    """Count days in chunks, like very large days."""
    monkeypatch.setattr(daily_totals, "CHUNK", 2)


def days_of(business, *, back, now):
    """Return the first and the last of some days that end today, in the business's time zone."""
    today = now.astimezone(business.zone).date()
    return today - (back - 1) * DAY, today


def counted(business, *, back=90, now=NOW):
    """Return the service's totals: count and volume by day and kind."""
    return counted_between(business, *days_of(business, back=back, now=now))


def counted_between(business, first, last):
    counts, volumes = Counter(), Counter()
    for tally in daily_totals.tallies(business, first=first, last=last):
        alike = (tally.day, *(getattr(tally, name) for name in daily_totals.GROUP_BY))
        counts[alike] += tally.count
        volumes[alike] += tally.volume
    return counts, volumes


def plain(business, *, back=90, now=NOW):
    """Return the same totals, computed row by row."""
    return plain_between(business, *days_of(business, back=back, now=now))


def plain_between(business, first, last):
    counts, volumes = Counter(), Counter()
    for row in Transaction.objects.filter(business=business):
        day = row.created_at.astimezone(business.zone).date()
        if first <= day <= last:
            alike = (day, *(getattr(row, name) for name in daily_totals.GROUP_BY))
            counts[alike] += 1
            volumes[alike] += row.amount_captured if row.method == "card" else row.amount
    return counts, volumes


def roll_up(now=NOW):
    return list(daily_totals.roll_up(now=now))


def change_amount(payment):
    """Change what a payment adds to the totals, behind the service's back."""
    amount = payment.amount + 1
    Transaction.objects.filter(pk=payment.pk).update(amount=amount, amount_captured=amount)


def live_in(business, zone):
    business.time_zone = zone
    business.save()


class CountedPayments(Payments):
    """The state machine of payments with two businesses, passing days and scheduled roll-ups."""

    def __init__(self) -> None:
        super().__init__()
        self.other = BusinessFactory()

    @rule(way=st.sampled_from(sorted(WAYS)), amount=AMOUNTS)
    def pay_another_business(self, way: str, amount: int) -> None:
        self.business, self.other = self.other, self.business
        self.pay(way, amount)

    @rule(wait=st.sampled_from([timedelta(hours=7), DAY, 40 * DAY]))
    def let_time_pass_without_queries(self, wait: timedelta) -> None:
        self.clock += wait

    @rule(zone=st.sampled_from(ZONES))
    def change_the_time_zone(self, zone: str) -> None:
        live_in(self.business, zone)

    @rule()
    def roll_up(self) -> None:
        roll_up(self.tick())

    @invariant()
    def totals_equal_the_sums_of_payments(self) -> None:
        for business in (self.business, self.other):
            for back in (7, 90):
                assert counted(business, back=back, now=self.clock) == plain(
                    business, back=back, now=self.clock
                )


@pytest.mark.django_db
class TestAnyHistory:
    @pytest.mark.long
    def test_has_the_totals_of_its_payments(self):
        run_machine(CountedPayments, examples=10, steps=30)


@pytest.mark.django_db
class TestRollingUp:
    def test_counts_every_past_day_once(self, ada):
        captured_payment(business=ada.business, now=NOW - 3 * DAY)

        assert roll_up() == [NOW.date() - ago * DAY for ago in range(90, 0, -1)]
        assert roll_up() == []
        assert roll_up(NOW + DAY) == [NOW.date()]
        assert HourlyTotals.objects.get().day_id == NOW.date() - 3 * DAY

    def test_counts_at_most_one_chunk_per_statement(self, ada):
        """The limit of 30 seconds per statement must hold for days of any size."""
        for _ in range(7):
            captured_payment(business=ada.business, now=NOW - DAY)
        sizes = []

        with CaptureQueriesContext(connection) as statements:
            sizes += [chunk.count() for chunk in daily_totals._chunks((NOW - DAY).date())]
            roll_up()

        assert sizes == [2, 2, 2, 1]
        grouped = [one["sql"] for one in statements if "GROUP BY" in one["sql"]]
        assert len(grouped) >= len(sizes)
        assert all(sql.count('"id" >=') == sql.count('"id" <') == 1 for sql in grouped)
        assert counted(ada.business) == plain(ada.business)

    def test_holds_no_lock_while_counting(self, ada, monkeypatch):
        """On SQLite, it would block every writer for the duration."""
        captured_payment(business=ada.business, now=NOW - DAY)
        in_transaction = []
        count = daily_totals._count_with_unfinished

        def watched(*arguments):
            in_transaction.append(len(connection.savepoint_ids))
            return count(*arguments)

        monkeypatch.setattr(daily_totals, "_count_with_unfinished", watched)
        roll_up()

        assert set(in_transaction) == {0}

    def test_includes_transactions_finished_during_the_count(self, ada, monkeypatch):
        """A chunk that saw it earlier lists it as unfinished, and it is counted when queried."""
        payment = authorised_payment(business=ada.business, now=NOW - DAY)
        write = daily_totals._write

        def write_later(*arguments):
            if payment.status == "pending":
                captures.capture(transaction_id=payment.pk, amount=None, now=NOW)
                payment.refresh_from_db()
            return write(*arguments)

        monkeypatch.setattr(daily_totals, "_write", write_later)
        roll_up()

        assert payment.status == "success"
        assert counted(ada.business) == plain(ada.business)

    def test_waits_until_late_requests_are_committed(self, ada):
        midnight = datetime(2026, 3, 11, tzinfo=UTC)
        roll_up(NOW)

        assert roll_up(midnight + timedelta(minutes=59)) == []
        assert roll_up(midnight + timedelta(hours=1)) == [NOW.date()]

    def test_separates_businesses(self, ada, bisi):
        for business, amount in ((ada.business, 500), (bisi.business, 700)):
            captured_payment(business=business, now=NOW - DAY, amount=amount)
            start(orders.payout(amount=9_000), business=business, now=NOW - DAY)
        roll_up()

        for business in (ada.business, bisi.business):
            assert counted(business) == plain(business)
            assert len(plain(business)[0]) == 2

    def test_is_a_command_too(self, ada, capsys):
        captured_payment(business=ada.business, now=NOW - 2 * DAY)

        with freeze_time(NOW):
            call_command("roll_up_days")

        assert capsys.readouterr().out == "Counted 90 days.\n"

    def test_reads_no_payment_of_a_counted_day(self, ada, django_assert_num_queries):
        """If it were read, its new amount would count."""
        payment = captured_payment(business=ada.business, now=NOW - DAY)
        before = plain(ada.business)
        roll_up()
        change_amount(payment)

        with django_assert_num_queries(3):
            assert counted(ada.business) == before


class TestDaysOfAZone:
    @given(
        zone=st.sampled_from(names()),
        day=st.dates(min_value=date(2025, 1, 1), max_value=date(2030, 12, 31)),
    )
    def test_are_those_of_each_hour(self, zone, day):
        begin, zone = datetime.combine(day, time(), tzinfo=UTC), ZoneInfo(zone)
        parts = list(daily_totals._days_of(day, zone))

        assert [local for local, hours in parts for _ in range(24)[hours]] == [
            (begin + hour * HOUR).astimezone(zone).date() for hour in range(24)
        ]


@pytest.mark.django_db
class TestTimeZones:
    MOMENTS = tuple(
        datetime(2026, 3, day, hour, tzinfo=UTC) + edge
        for day in (7, 8, 9)
        for hour in (0, 4, 5, 10, 11, 23)
        for edge in (timedelta(microseconds=-1), timedelta(0))
    )

    @pytest.fixture
    def business(self, ada):
        """A business with payments around the midnights of all zones, of which some haven't finished."""
        for number, moment in enumerate(self.MOMENTS):
            make = authorised_payment if number % 5 == 0 else captured_payment
            make(business=ada.business, now=moment, amount=100 + number)
        return ada.business

    def days(self):
        return [date(2026, 3, day) for day in range(6, 11)]

    @pytest.mark.long
    def test_have_the_totals_of_their_own_days(self, business):
        for now in (None, NOW - DAY, NOW):
            if now:
                roll_up(now)
            for zone in ZONES:
                live_in(business, zone)
                for first, last in combinations_with_replacement(self.days(), 2):
                    assert counted_between(business, first, last) == plain_between(business, first, last)

    @pytest.mark.parametrize("is_counted", [False, True])
    @pytest.mark.parametrize(
        ("zone", "day", "hours"),
        [
            ("America/New_York", date(2026, 3, 8), 23),
            ("America/New_York", date(2026, 11, 1), 25),
            ("America/New_York", date(2026, 11, 2), 24),
        ],
    )
    def test_may_have_days_of_23_or_25_hours(self, ada, zone, day, hours, is_counted):
        live_in(ada.business, zone)
        for hour in range(-1, hours + 1):
            captured_payment(business=ada.business, now=day_begins(day, ada.business.zone) + hour * HOUR)
        if is_counted:
            roll_up(datetime.combine(day, time(12), tzinfo=UTC) + 3 * DAY)

        counts, _ = counted_between(ada.business, day, day)

        assert sum(counts.values()) == hours

    def test_west_of_utc_include_the_first_of_ninety_days(self, ada):
        """In the morning (UTC), the first of ninety days began on the day before."""
        live_in(ada.business, "Pacific/Pago_Pago")
        now = datetime(2026, 3, 10, 2, tzinfo=UTC)
        first, _ = days_of(ada.business, back=90, now=now)
        payment = captured_payment(
            business=ada.business, now=day_begins(first, ada.business.zone) + HOUR, amount=300
        )
        roll_up(now)
        change_amount(payment)

        assert sum(counted(ada.business, now=now)[1].values()) == 300


@pytest.mark.django_db
class TestUpgrade:
    def test_counts_past_days_like_a_roll_up(self, ada, bisi, monkeypatch):
        upgrade = import_module("payments.migrations.0003_count_past_hours")
        monkeypatch.setattr(upgrade.clock, "now", lambda: NOW)
        for business in (ada.business, bisi.business):
            captured_payment(business=business, now=NOW - 2 * DAY + 5 * HOUR, amount=700)
            authorised_payment(business=business, now=NOW - 2 * DAY)
        captured_payment(business=ada.business, now=NOW)

        upgrade.count_past_hours(apps, None)

        stored = list(
            HourlyTotals.objects.order_by("business").values("business", "day", "tallies", "unfinished")
        )
        assert len(stored) == 2
        assert roll_up() == []
        for business in (ada.business, bisi.business):
            assert counted(business) == plain(business)
        HourlyTotals.objects.all().delete()
        CountedDay.objects.all().delete()
        roll_up()
        assert stored == list(
            HourlyTotals.objects.order_by("business").values("business", "day", "tallies", "unfinished")
        )

    def test_of_an_empty_database_counts_nothing(self, db):
        import_module("payments.migrations.0003_count_past_hours").count_past_hours(apps, None)

        assert not CountedDay.objects.exists()


@pytest.mark.django_db
class TestLateChanges:
    """A rolled-up day stays correct."""

    def test_of_a_capture_are_visible_at_once(self, ada):
        payment = authorised_payment(business=ada.business, now=NOW - 2 * DAY, amount=50_000)
        roll_up()
        captures.capture(transaction_id=payment.pk, amount=20_000, now=NOW)

        assert counted(ada.business) == plain(ada.business)
        assert sum(counted(ada.business)[1].values()) == 20_000

    def test_are_added_by_the_next_roll_up(self, ada):
        waiting = challenged_payment(business=ada.business, now=NOW - 2 * DAY)
        payment = authorised_payment(business=ada.business, now=NOW - 2 * DAY)
        captured_payment(business=ada.business, now=NOW - 2 * DAY)
        roll_up()
        captures.capture(transaction_id=payment.pk, amount=20_000, now=NOW)
        roll_up()

        totals = HourlyTotals.objects.get()
        assert totals.unfinished == [str(waiting.pk)]
        assert [sum(tally["counts"]) for tally in totals.tallies] == [2]
        assert counted(ada.business) == plain(ada.business)

    def test_of_a_refund_do_not_change_totals(self, ada):
        payment = captured_payment(business=ada.business, now=NOW - 2 * DAY)
        roll_up()
        before = counted(ada.business)
        refunds.refund(transaction=payment, request={"reference": "r1", "amount": 500}, now=NOW)

        assert counted(ada.business) == before == plain(ada.business)

    def test_are_queried_in_any_number(self, ada, monkeypatch):
        monkeypatch.setattr(daily_totals, "AT_ONCE", 2)
        payments = [authorised_payment(business=ada.business, now=NOW - 2 * DAY) for _ in range(5)]
        roll_up()
        for payment in payments[:4]:
            captures.capture(transaction_id=payment.pk, amount=None, now=NOW)

        assert counted(ada.business) == plain(ada.business)
        roll_up()
        assert counted(ada.business) == plain(ada.business)
        assert HourlyTotals.objects.get().unfinished == [str(payments[4].pk)]


@pytest.mark.django_db
class TestCheckLedger:
    """Reports transactions inserted more than an hour after their day."""

    def broken(self):
        return [
            row
            for one in check(INVARIANTS)
            if one.invariant.name == "daily_totals_match_transactions"
            for row in one.broken
        ]

    def test_reports_the_day_to_recount(self, ada, bisi):
        for ago in (2, 3):
            captured_payment(business=ada.business, now=NOW - ago * DAY)
            challenged_payment(business=ada.business, now=NOW - ago * DAY)
        roll_up()
        assert self.broken() == []

        for key in (ada, bisi):
            captured_payment(business=key.business, now=NOW - 2 * DAY)
        found = self.broken()

        assert len(found) == 2
        assert any(row.endswith("on 2026-03-08: 2 of 3") for row in found)
        assert any(row.endswith("on 2026-03-08: 0 of 1") for row in found)


@pytest.mark.django_db(transaction=True)
class TestAtTheSameTime:
    @pytest.mark.long
    def test_concurrent_roll_ups_and_a_reader_do_not_interfere(self, ada):
        for ago in range(4):
            captured_payment(business=ada.business, now=NOW - ago * DAY)
        with racers(3) as line:
            for number in range(8):
                payment = authorised_payment(business=ada.business, now=NOW - 2 * DAY)
                expected = plain(ada.business)
                one, two, seen = line.race(roll_up, roll_up, partial(counted, ada.business))

                assert seen == expected
                assert sorted(one + two) == [NOW.date() - ago * DAY for ago in range(90, 0, -1)]
                captures.capture(transaction_id=payment.pk, amount=number + 1, now=NOW)
                assert line.race(roll_up, roll_up, partial(counted, ada.business))[:2] == [[], []]
                assert counted(ada.business) == plain(ada.business)
                HourlyTotals.objects.all().delete()
                CountedDay.objects.all().delete()

    def test_a_capture_is_counted_once(self, ada):
        """Counted either before or after the update, never twice."""
        payments = [authorised_payment(business=ada.business, now=NOW - 2 * DAY) for _ in range(8)]
        with racers(3) as line:
            for payment in payments:
                before = plain(ada.business)
                capture = partial(captures.capture, transaction_id=payment.pk, amount=None, now=NOW)
                captured, rolled, seen = line.race(capture, roll_up, partial(counted, ada.business))
                after = plain(ada.business)

                assert captured.resource.status == "success"
                assert isinstance(rolled, list)
                assert seen in (before, after)
                assert counted(ada.business) == after
