"""STAN and RRN are unique within their period, despite rollbacks, crashes, forks and races."""

import itertools
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import F
from hypothesis import given
from hypothesis import strategies as st

from payments.models import CardOperation, TraceCounter, Transaction
from payments.services.refunds import refunds
from payments.services.transactions import intents
from payments.trace_numbers import (
    BLOCK,
    FAILOVER_GAP,
    HOUR,
    PER_HOUR,
    ROUND,
    Block,
    TraceNumbers,
    retrieval_reference_number,
)
from tests import orders
from tests.databases import database_url
from tests.factories import BusinessFactory
from tests.payments.trace_number_takers import ROLES, numbers_in
from tests.racing import racers
from tests.transactions import captured_payment

MOMENTS = st.datetimes(timezones=st.just(UTC))


class TestRetrievalReferenceNumber:
    @given(MOMENTS, st.integers(min_value=1, max_value=999_999))
    def test_consists_of_year_day_hour_and_trace_number(self, at, number):
        made = retrieval_reference_number(stan=f"{number:06}", at=at)

        assert len(made) == 12
        assert made == f"{at:%Y}"[-1] + f"{at:%j}" + f"{at:%H}" + f"{number:06}"


def stored():
    return TraceCounter.objects.get(name=TraceCounter.STAN)


def position(number):
    """Return the position of a number in its round."""
    return int(number.stan) - 1


@pytest.mark.django_db
class TestTraceNumbers:
    def test_of_two_processes_differ(self):
        one, another = TraceNumbers(), TraceNumbers()

        taken = [numbers.take() for numbers in (one, another) for _ in range(150)]

        assert len({number.stan for number in taken}) == len({number.rrn for number in taken}) == 300

    def test_contain_the_hour_of_their_reservation(self):
        before = datetime.now(UTC)
        number = TraceNumbers().take()
        hours = {f"{at:%Y%j%H}"[3:] for at in (before, datetime.now(UTC))}

        assert number.rrn[:6] in hours
        assert number.rrn[6:] == number.stan

    def test_restart_after_the_last_of_a_round(self):
        TraceNumbers().take()
        ahead = (stored().taken // ROUND + 1) * ROUND - 50
        TraceCounter.objects.update(taken=ahead, hour_start=ahead)
        numbers = TraceNumbers()

        taken = [numbers.take().stan for _ in range(BLOCK)]

        assert taken[:50] == [f"{number:06}" for number in range(999_950, 1_000_000)]
        assert taken[50:52] == ["000001", "000002"]

    def test_of_an_earlier_hour_are_not_used(self):
        assert Block(first=1, count=100, hour=1, seconds_left=60).is_usable
        assert not Block(first=1, count=100, hour=1, seconds_left=0).is_usable

    def test_of_a_new_hour_are_counted_from_the_start(self):
        TraceNumbers().take()
        TraceCounter.objects.update(hour=F("hour") - 1, hour_start=F("taken") - PER_HOUR)
        before = stored()

        TraceNumbers().take()

        after = stored()
        assert (after.hour, after.taken) == (before.hour + 1, before.taken + BLOCK)
        assert after.hour_start == before.taken

    def test_exhausted_within_an_hour_reject_payments_and_store_nothing(self, api, monkeypatch):
        TraceNumbers().take()
        TraceCounter.objects.update(hour_start=F("taken") - PER_HOUR)
        monkeypatch.setattr(intents, "trace_numbers", TraceNumbers())

        answer = api.post("/api/payments", orders.card_payment())

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert "Retry-After" in answer.headers
        assert not Transaction.objects.exists()

    def test_after_a_restored_backup_continue_after_those_allocated_since(self):
        TraceNumbers().take()
        an_hour_ago = stored().taken - 10 * HOUR
        TraceCounter.objects.update(taken=F("taken") + 2 * BLOCK)
        given_out = stored().taken

        TraceCounter.objects.update(taken=an_hour_ago, hour=F("hour") - 1, hour_start=an_hour_ago)
        TraceNumbers().take()

        assert stored().taken >= given_out - 2 * BLOCK  # the clock alone advances it: 20 s with 10 per second

    def test_skip_a_gap_after_a_failover(self):
        """A standby may lack the last reservations."""
        TraceNumbers().take()
        TraceCounter.objects.update(server="7710959452870310016-00000007")
        before = stored().taken

        TraceNumbers().take()

        assert stored().taken == before + FAILOVER_GAP + BLOCK

    def test_are_left_after_many_failovers_in_an_hour(self):
        TraceNumbers().take()
        taken = []

        for number in range(20):
            TraceCounter.objects.update(server=f"7710959452870310016-{number:08}")
            taken.append(stored().taken)
            TraceNumbers().take()

        gaps = [after - before - BLOCK for before, after in itertools.pairwise(taken)]
        assert gaps[:5] == [FAILOVER_GAP] * 5
        assert all(gap >= 10 * BLOCK for gap in gaps)

    def test_skip_the_whole_gap_after_a_failover_in_a_new_hour(self):
        TraceNumbers().take()
        used_up = {"hour": F("hour") - 1, "hour_start": F("taken") - PER_HOUR}
        TraceCounter.objects.update(server="7710959452870310016-00000007", **used_up)
        before = stored().taken

        TraceNumbers().take()

        assert stored().taken == before + FAILOVER_GAP + BLOCK

    def test_continue_from_the_row_of_the_previous_release(self):
        TraceCounter.objects.all().delete()
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO payments_tracecounter (name, taken) VALUES ('stan', 300)")

        TraceNumbers().take()

        assert stored().taken >= 300 + BLOCK

    def test_are_not_allocated_in_a_transaction_that_could_be_rolled_back(self):
        numbers = TraceNumbers()
        numbers.take()

        with transaction.atomic(), pytest.raises(RuntimeError, match="before the database transaction"):
            numbers.take()


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_threads_of_two_processes_take_different_numbers(self):
        """Tests the thread lock of `TraceNumbers` and the single statement that updates the counter."""
        one_process, another = TraceNumbers(), TraceNumbers()
        with racers(4) as threads:
            taken = threads.race(
                *[lambda: [one_process.take() for _ in range(250)]] * 2,
                *[lambda: [another.take() for _ in range(250)]] * 2,
            )

        numbers = [number.rrn for numbers in taken for number in numbers]
        assert len(set(numbers)) == len(numbers) == 1000

    @pytest.mark.parametrize("failure", ["deadlock detected", "canceling statement due to lock timeout"])
    def test_rolled_back_refund_releases_no_number(self, monkeypatch, failure):
        """The first release reserved inside the refund's transaction and kept the block after its rollback."""
        payment = captured_payment(business=BusinessFactory(), now=datetime.now(UTC))
        process = TraceNumbers()
        monkeypatch.setattr(intents, "trace_numbers", process)
        monkeypatch.setattr(refunds, "insert_if_absent", raising(OperationalError(failure)))

        with suppress(OperationalError):
            refunds.refund(transaction=payment, request={"reference": "r-1"}, now=datetime.now(UTC))
        another = TraceNumbers()
        taken = [numbers.take().rrn for _ in range(BLOCK) for numbers in (process, another)]

        assert not CardOperation.objects.exists()
        assert len(set(taken)) == len(taken)

    @pytest.mark.timeout(60)
    def test_payment_that_reserves_a_block_and_a_refund_do_not_deadlock(self, monkeypatch):
        """On SQLite, the refund held the only write lock and the payment the lock of the numbers."""
        payment = captured_payment(business=BusinessFactory(), now=datetime.now(UTC))
        monkeypatch.setattr(intents, "trace_numbers", TraceNumbers())
        is_in_transaction, is_reserving = threading.Event(), threading.Event()
        refundable = refunds._refundable_amount

        def refundable_once_a_block_is_wanted(*arguments):
            is_in_transaction.set()
            is_reserving.wait(5)
            return refundable(*arguments)

        def note_reservation(execute, statement, *rest):
            if "payments_tracecounter" in statement:
                is_reserving.set()
            return execute(statement, *rest)

        def refund():
            request = {"reference": "r-1"}
            return refunds.refund(transaction=payment, request=request, now=datetime.now(UTC)).resource

        def take_the_rest_of_a_block_and_one_more():
            assert is_in_transaction.wait(5)
            with connection.execute_wrapper(note_reservation):
                return [intents.trace_fields() for _ in range(BLOCK + 1)]

        monkeypatch.setattr(refunds, "_refundable_amount", refundable_once_a_block_is_wanted)
        with ThreadPoolExecutor(2) as threads:
            both = [
                threads.submit(and_close(call)) for call in (refund, take_the_rest_of_a_block_and_one_more)
            ]
            refunded, taken = [one.result() for one in both]

        assert refunded.status == CardOperation.Status.SUCCESS
        numbers = {fields["retrieval_reference_number"] for fields in taken}
        assert len(numbers | {refunded.retrieval_reference_number}) == BLOCK + 2


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
class TestProcesses:
    def test_that_roll_back_crash_and_fork_allocate_no_number_twice(self, tmp_path):
        """8 processes with 100,000 numbers on PostgreSQL, and fewer on SQLite, which only one process uses."""
        each = 12_600 if connection.vendor == "postgresql" else 1_500
        takers = [start(ROLES[place % len(ROLES)], each, tmp_path / f"{place}") for place in range(8)]

        ended = [process.wait(timeout=240) for process in takers]

        assert ended == [0, 0, -9, 0] * 2
        taken = list(numbers_in(tmp_path))
        assert len(taken) >= 8 * each
        assert len(set(taken)) == len(taken)
        assert len({rrn[-6:] for rrn in taken}) == len(taken)


def start(role, count, file):
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.with_django",
            "tests.payments.trace_number_takers",
            role,
            str(count),
            str(file),
        ],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": database_url()},
    )


def raising(error):
    def fail(*_arguments):
        raise error

    return fail


def and_close(call):
    """Wrap a call so that its thread closes its database connection afterwards."""

    def called():
        try:
            return call()
        finally:
            connection.close()

    return called
