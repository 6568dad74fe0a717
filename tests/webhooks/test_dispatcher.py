import hashlib
import hmac
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import OperationalError, connection, connections
from django.utils import timezone

from tests.faults.proxy import PostgreSQLWire, proxied
from tests.racing import racers
from tests.webhooks import zoo
from tests.webhooks.rows import ADA, DELIVERED, KEY, finish, make_deliveries, make_delivery, make_endpoint
from webhooks import concurrency, held_deliveries, leases, results, services
from webhooks import dispatcher as drains
from webhooks.dispatcher import Drain, drain_once
from webhooks.models import Attempt, Delivery, Endpoint

# Drains have a database connection of their own: they see only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)
STATES = Delivery.State


@pytest.fixture(autouse=True)
def _impatient(settings):
    settings.WEBHOOK_TIMEOUT = 0.6


def now():
    return timezone.now() - timedelta(seconds=1)


def wait_until(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


needs_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no clock but this process's"
)


def set_host_clock(monkeypatch, ahead):
    """Let the host's time of day differ from the database's."""

    monkeypatch.undo()  # the tests' one clock

    class Skewed(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + ahead

    monkeypatch.setattr(timezone, "datetime", Skewed)


def wait_until_silent():
    """Wait until a request in flight counts as unanswered for long."""
    time.sleep(concurrency.SLOW_AFTER * 2)


def in_background(work):
    def run():
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.fixture
def through_proxy(monkeypatch, transactional_db):
    """Let the drain's connections reach PostgreSQL through a proxy alone."""
    connection.ensure_connection()  # the test's own one does not
    with proxied(int(connection.settings_dict["PORT"] or 5432), PostgreSQLWire) as proxy:
        options = connection.settings_dict["OPTIONS"] | {"sslmode": "disable", "gssencmode": "disable"}
        for name, value in {"HOST": "127.0.0.1", "PORT": str(proxy.port), "OPTIONS": options}.items():
            monkeypatch.setitem(connection.settings_dict, name, value)
        yield proxy


class TestRequest:
    def test_is_signed_and_named_as_the_contract_says(self):
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            delivery = make_delivery(make_endpoint(url=door.url), at=now())
            made = drain_once()

        (request,) = door.requests
        assert made == 1
        assert request.line == "POST /hook HTTP/1.1"
        assert request.body == delivery.body.encode()
        assert request.header("Content-Type") == "application/json"
        assert request.header("User-Agent") == "Sluice-Webhooks/1.0"
        assert request.header("X-Service-Event") == "payment.success"
        assert request.header("X-Service-Attempt") == "1"
        assert request.header("X-Service-Idempotency-Key") == str(delivery.pk)
        signature = hmac.new(KEY.encode(), request.body, hashlib.sha256).hexdigest()
        assert request.header("X-Service-Signature") == signature

    def test_of_a_test_event_says_so_and_is_not_counted(self):
        counted = drains.ATTEMPTS.labels("delivered")
        before = counted._value.get()
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            endpoint = make_endpoint(url=door.url)
            services.send_test_event(business=endpoint.business, data={}, now=now())
            make_delivery(endpoint, at=now())
            drain_once()

        headers = [request.header("X-Service-Test") for request in door.requests]
        assert sorted(headers, key=str) == [None, "true"]
        assert counted._value.get() == before + 1

    @pytest.mark.long
    def test_has_the_same_id_and_bytes_in_every_attempt_and_the_key_of_the_day(self, settings):
        settings.WEBHOOK_RETRY_DELAYS = [0, 0]
        with zoo.opened(zoo.answering(zoo.status(503))) as door:
            endpoint = make_endpoint(url=door.url)
            make_delivery(endpoint, at=now())
            drain_once()
            rotated = services.rotate_hash_key(business=endpoint.business, actor=ADA, now=now())
            list(services.replay(Delivery.objects.values_list("pk", flat=True), actor=ADA, now=now()))
            drain_once()

        first, *_, last = door.requests
        assert [request.header("X-Service-Attempt") for request in door.requests] == ["1", "2", "3"]
        assert len({request.body for request in door.requests}) == 1
        assert len({request.header("X-Service-Idempotency-Key") for request in door.requests}) == 1
        new = hmac.new(rotated.new_hash_key.encode(), last.body, hashlib.sha256).hexdigest()
        assert first.header("X-Service-Signature") != last.header("X-Service-Signature") == new

    def test_is_recorded_with_the_answer(self):
        with zoo.opened(zoo.answering(zoo.status(422, body=b"not like this"))) as door:
            delivery = make_delivery(make_endpoint(url=door.url), at=now())
            drain_once()

        attempt = Attempt.objects.get()
        assert (attempt.delivery_id, attempt.number, attempt.status) == (delivery.pk, 1, 422)
        assert (attempt.error, attempt.address) == ("client_error", "127.0.0.1")
        assert bytes(attempt.excerpt) == b"not like this"
        assert attempt.wait_ms > 0

    def test_is_recorded_without_card_numbers(self):
        answer = b"no order 4084.0840.8408.4081 or 4084084084084081"
        with zoo.opened(zoo.answering(zoo.status(422, body=answer))) as door:
            make_delivery(make_endpoint(url=door.url), at=now())
            drain_once()

        assert bytes(Attempt.objects.get().excerpt) == b"no order 408408******4081 or 408408******4081"

    def test_is_not_made_to_a_private_address(self):
        make_delivery(make_endpoint(url="http://10.0.0.1/hook"), at=now())

        drain_once()

        assert Attempt.objects.get().error == "blocked_address"

    def test_is_not_made_at_home_where_no_network_is_allowed(self, settings):
        settings.WEBHOOK_ALLOW_CIDRS = []
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            make_delivery(make_endpoint(url=door.url), at=now())
            drain_once()

        assert Attempt.objects.get().error == "blocked_address"
        assert door.connections == 0


class TestDrain:
    def test_with_nothing_due_ends_at_once(self):
        assert drain_once() == 0

    def test_sends_what_was_held_while_somebody_switched_the_endpoint_on(self):
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            make_delivery(make_endpoint(url=door.url), at=now(), state=STATES.HELD)
            drain_once()

        assert len(door.requests) == 1

    def test_sends_what_is_held_at_an_enabled_endpoint_also_while_it_runs_for_long(self, monkeypatch):
        """A worker's dispatcher that always has something to send does not end."""
        monkeypatch.setattr(drains, "RELEASE_PAUSE", 0.1)
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            endpoint = make_endpoint(url=door.url)
            make_delivery(endpoint, at=now())
            running = in_background(lambda: drain_once(linger=60))
            wait_until(lambda: door.requests)

            make_delivery(endpoint, at=now(), state=STATES.HELD)
            wait_until(lambda: len(door.requests) == 2)
            drains.stop_gracefully()
            running.join()

    def test_drops_what_is_held_at_an_enabled_endpoint_for_over_seven_days(self):
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            endpoint = make_endpoint(url=door.url)
            old = make_delivery(endpoint, at=now() - timedelta(days=7, seconds=1), state=STATES.HELD)
            young = make_delivery(endpoint, at=now() - timedelta(days=6), state=STATES.HELD)
            drain_once()

        old.refresh_from_db()
        assert [request.header("X-Service-Idempotency-Key") for request in door.requests] == [str(young.pk)]
        assert old.state == STATES.SKIPPED

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("module", "step"),
        [(held_deliveries, "release_stragglers"), (leases, "claim"), (results, "finish")],
    )
    def test_writes_its_results_although_the_database_was_away(self, module, step, monkeypatch):
        works, calls = getattr(module, step), []

        def away_at_first(*arguments, **named):
            calls.append(step)
            if len(calls) == 1:
                raise OperationalError
            return works(*arguments, **named)

        monkeypatch.setattr(module, step, away_at_first)
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            delivery = make_delivery(make_endpoint(url=door.url), at=now())
            made = drain_once()

        delivery.refresh_from_db()
        assert (made, len(door.requests), Attempt.objects.count()) == (1, 1, 1)
        assert delivery.state == STATES.DELIVERED

    @pytest.mark.long
    @pytest.mark.parametrize(
        "receiver",
        [
            zoo.silent,
            zoo.header_drip,
            zoo.continue_flood,
            zoo.header_flood,
            zoo.reset,
            zoo.garbage,
            zoo.closing_without_answer,
        ],
    )
    def test_goes_on_with_the_schedule_whatever_a_peer_does(self, receiver):
        with zoo.opened(receiver) as door:
            delivery = make_delivery(make_endpoint(url=door.url), at=now())
            drain_once()

        delivery.refresh_from_db()
        ended_at = Attempt.objects.get().started_at
        assert (delivery.state, delivery.attempts_made) == (STATES.WAITING, 1)
        assert timedelta(seconds=15) < delivery.next_attempt_at - ended_at < timedelta(seconds=46)

    def test_sends_each_once_where_two_run_at_once(self, settings):
        settings.WEBHOOK_TIMEOUT = 60  # both drains and all receivers are threads of this process
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            for _ in range(10):
                make_deliveries(make_endpoint(url=door.url), 20, at=now())
            with racers(2) as two:
                made = two.race(Drain().run, Drain().run)

        sent = Counter(request.header("X-Service-Idempotency-Key") for request in door.requests)
        assert sum(made) == 200
        assert set(sent.values()) == {1}
        assert len(sent) == Attempt.objects.count() == 200
        assert not Delivery.objects.exclude(state=STATES.DELIVERED).exists()

    def test_gives_no_business_more_than_its_share(self):
        most = Gauge()
        with zoo.opened(most.slowly(0.05)) as door:
            make_deliveries(make_endpoint(url=door.url), 30, at=now())
            drain_once()

        assert len(door.requests) == 30
        assert most.highest <= concurrency.PER_BUSINESS

    @pytest.mark.long
    def test_starts_two_first_attempts_at_a_slow_endpoint_at_once_and_the_third_after_an_answer(
        self, monkeypatch, settings
    ):
        settings.WEBHOOK_TIMEOUT = 2
        monkeypatch.setattr(concurrency, "SLOW_AFTER", 0.1)
        with zoo.opened(zoo.silent) as door:
            endpoint = make_endpoint(url=door.url)
            make_delivery(endpoint, at=now())
            running = in_background(Drain().run)
            wait_until(lambda: door.requests)
            wait_until_silent()
            later = make_deliveries(endpoint, 2, at=now())
            running.join()

        first, second, third = door.requests
        assert second.at - first.at < settings.WEBHOOK_TIMEOUT * 0.9
        assert second.header("X-Service-Idempotency-Key") == str(later[0].pk)
        assert third.at - first.at > settings.WEBHOOK_TIMEOUT * 0.9

    @pytest.mark.long
    def test_sends_no_retry_to_a_silent_endpoint_that_has_not_answered_a_first_attempt(
        self, monkeypatch, settings
    ):
        settings.WEBHOOK_TIMEOUT = 2
        monkeypatch.setattr(concurrency, "SLOW_AFTER", 0.1)
        with zoo.opened(zoo.silent) as door:
            endpoint = make_endpoint(url=door.url)
            make_delivery(endpoint, at=now())
            running = in_background(Drain().run)
            wait_until(lambda: door.requests)
            wait_until_silent()
            make_deliveries(endpoint, 3, at=now() - timedelta(minutes=1), attempts_made=1)
            running.join()

        first, *retries = door.requests
        assert [request.header("X-Service-Attempt") for request in retries] == ["2", "2", "2"]
        assert min(request.at for request in retries) - first.at > settings.WEBHOOK_TIMEOUT * 0.9

    @pytest.mark.long
    def test_leaves_two_places_of_a_silent_endpoint(self):
        most = Gauge()
        with zoo.opened(most.silently) as door:
            make_deliveries(make_endpoint(url=door.url), 12, at=now())
            drain_once()

        assert most.after(8) == 8
        assert max(most.after(number) for number in (9, 10, 11, 12)) == 2
        assert Attempt.objects.filter(error="timeout").count() == 12

    @pytest.mark.long
    def test_counts_what_the_last_one_of_its_process_still_waits_for(self, settings):
        settings.WEBHOOK_TIMEOUT = 2
        most = Gauge()
        with zoo.opened(most.silently) as door:
            endpoint = make_endpoint(url=door.url)
            make_deliveries(endpoint, 8, at=now())
            leaving = in_background(lambda: drain_once(linger=60, life=0.2))
            wait_until(lambda: len(door.requests) == 8)
            make_deliveries(endpoint, 4, at=now())
            time.sleep(0.4)
            drain_once(linger=3)
            leaving.join()

        assert len(door.requests) == 12
        assert most.highest == 8

    @pytest.mark.long
    def test_waits_for_nothing_that_another_process_has_in_flight(self, monkeypatch, settings):
        """Each process has the places of a business: two drains that share nothing stand for two processes."""
        settings.WEBHOOK_TIMEOUT = 2
        monkeypatch.setattr(concurrency, "SLOW_AFTER", 0.1)
        with zoo.opened(zoo.silent) as door:
            endpoint = make_endpoint(url=door.url)
            make_deliveries(endpoint, 2, at=now())
            first = in_background(Drain().run)
            wait_until(lambda: len(door.requests) == 2)
            wait_until_silent()
            make_deliveries(endpoint, 20, at=now() - timedelta(minutes=1), attempts_made=1)
            third = make_delivery(endpoint, at=now())
            other = Drain()
            second = in_background(other.run)
            wait_until(lambda: len(door.requests) >= 9)
            first.join(timeout=0)
            was_running = first.is_alive()
            other.stop()
            first.join()
            second.join()

        of_the_other = door.requests[2:9]
        assert was_running
        assert Counter(request.header("X-Service-Attempt") for request in of_the_other) == {"1": 1, "2": 6}
        assert str(third.pk) in {request.header("X-Service-Idempotency-Key") for request in of_the_other}

    def test_repeats_a_claim_whose_commit_was_not_acknowledged_and_sends_at_once(self, monkeypatch):
        claim, calls = leases.claim, []

        def unacknowledged_at_first(**named):
            claimed = claim(**named)
            calls.append(len(claimed))
            if len(calls) == 1:
                raise OperationalError("server closed the connection unexpectedly")
            return claimed

        monkeypatch.setattr(leases, "claim", unacknowledged_at_first)
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            delivery = make_delivery(make_endpoint(url=door.url), at=now())
            drain_once()

        delivery.refresh_from_db()
        assert (calls[:2], len(door.requests)) == ([1, 1], 1)
        assert delivery.state == STATES.DELIVERED

    @needs_postgresql
    def test_sends_at_once_what_a_commit_leased_whose_answer_was_lost(self, through_proxy):
        """As when PostgreSQL is killed at the end of a claim: what is leased does not wait for the lease to end."""
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            delivery = make_delivery(make_endpoint(url=door.url), at=now())
            with through_proxy.swallowing():
                made = drain_once()

        delivery.refresh_from_db()
        assert len(through_proxy.swallowed) == 1
        assert (made, len(door.requests)) == (1, 1)
        assert (delivery.state, delivery.attempts_made) == (STATES.DELIVERED, 1)

    @needs_postgresql
    def test_sends_nothing_twice_although_the_clock_of_its_host_is_an_hour_fast(self, monkeypatch):
        with zoo.opened(zoo.slow(0.4)) as door:
            make_delivery(make_endpoint(url=door.url), at=now())
            running = in_background(Drain().run)
            wait_until(lambda: door.requests)
            set_host_clock(monkeypatch, timedelta(hours=1))
            made = Drain().run()
            running.join()

        assert (made, len(door.requests)) == (0, 1)
        assert Delivery.objects.get().state == STATES.DELIVERED

    @needs_postgresql
    def test_retries_at_the_time_of_the_database_although_its_host_is_an_hour_slow(self, monkeypatch):
        with zoo.opened(zoo.answering(zoo.status(503))) as door:
            delivery = make_delivery(make_endpoint(url=door.url), at=now())
            set_host_clock(monkeypatch, timedelta(hours=-1))
            made = Drain().run()

        delivery.refresh_from_db()
        wait = delivery.next_attempt_at - delivery.created_at
        assert (made, len(door.requests)) == (1, 1)
        assert timedelta(seconds=15) < wait < timedelta(seconds=60)

    @pytest.mark.long
    def test_keeps_nobody_waiting_for_a_silent_endpoint(self):
        with zoo.opened(zoo.silent) as deaf, zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            make_deliveries(make_endpoint(url=deaf.url), 8, at=now() - timedelta(minutes=1))
            make_deliveries(make_endpoint(url=door.url), 20, at=now())
            drain_once()

        assert len(door.requests) == 20
        assert max(request.at for request in door.requests) < min(r.at for r in deaf.requests) + 0.4

    def test_that_is_stopped_finishes_what_is_under_way_and_claims_nothing_more(self):
        with zoo.opened(zoo.slow(0.3)) as door:
            make_deliveries(make_endpoint(url=door.url), 12, at=now())
            running = in_background(drain_once)
            wait_until(lambda: len(door.requests) == 8)
            drains.stop_gracefully()
            running.join()

        assert len(door.requests) == 8
        assert Delivery.objects.filter(state=STATES.DELIVERED).count() == 8
        waiting = Delivery.objects.filter(state=STATES.WAITING)
        assert {row.lease_token for row in waiting} == {None}

    def test_runs_once_in_a_process(self):
        with zoo.opened(zoo.slow(0.3)) as door:
            make_delivery(make_endpoint(url=door.url), at=now())
            running = in_background(drain_once)
            wait_until(lambda: door.requests)
            second = drain_once()
            running.join()

        assert second == 0
        assert len(door.requests) == 1

    def test_that_lingers_is_woken_by_the_next_ring(self):
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            endpoint = make_endpoint(url=door.url)
            lingering = in_background(lambda: drain_once(linger=3))
            time.sleep(0.3)  # it has looked, found nothing, and waits

            make_delivery(endpoint, at=now())
            made_here = drain_once()
            wait_until(lambda: Delivery.objects.filter(state=STATES.DELIVERED).exists(), seconds=1)
            drains.stop_gracefully()
            lingering.join()

        assert made_here == 0
        assert len(door.requests) == 1

    def test_that_lingers_ends_after_its_life_at_any_load(self):
        started = time.monotonic()
        drain_once(linger=60, life=0.2)

        assert time.monotonic() - started < 5

    @pytest.mark.long
    def test_whose_life_has_ended_makes_room_while_it_finishes_what_hangs(self, settings):
        settings.WEBHOOK_TIMEOUT = 3
        with zoo.opened(zoo.silent) as deaf, zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            make_delivery(make_endpoint(url=deaf.url), at=now())
            leaving = in_background(lambda: drain_once(linger=60, life=0.2))
            wait_until(lambda: deaf.requests)
            time.sleep(0.4)

            make_delivery(make_endpoint(url=door.url), at=now())
            made = drain_once()
            was_still_waiting = leaving.is_alive()
            leaving.join()

        assert (made, len(door.requests), was_still_waiting) == (1, 1, True)
        assert Attempt.objects.filter(error="timeout").count() == 1

    @pytest.mark.long
    def test_knows_of_the_last_one_which_endpoint_is_silent(self, settings):
        settings.WEBHOOK_TIMEOUT = 0.5
        with zoo.opened(zoo.silent) as deaf:
            endpoint = make_endpoint(url=deaf.url)
            make_delivery(endpoint, at=now())
            drain_once()
            make_deliveries(endpoint, 5, at=now())
            running = in_background(drain_once)
            wait_until(lambda: len(deaf.requests) == 3)
            drains.stop_gracefully()
            running.join()

        assert len(deaf.requests) == 3

    def test_counts_results_that_come_after_the_lease_as_lost(self):
        with zoo.opened(zoo.slow(0.3)) as door:
            make_delivery(make_endpoint(url=door.url), at=now())
            running = in_background(drain_once)
            wait_until(lambda: door.requests)
            taken_over = leases.claim(
                at=timezone.now() + timedelta(minutes=5),
                until=timezone.now() + timedelta(minutes=6),
                token=Endpoint.objects.get().business_id,
                limit=1,
            )
            running.join()

        assert [each.number for each in taken_over] == [1]
        assert not Attempt.objects.exists()
        assert finish(taken_over, DELIVERED) == 0
        assert Attempt.objects.get().number == 1

    def test_sends_nothing_when_its_lease_ended_before_it_came_to_it(self, monkeypatch):
        """As after a stop of the process between the claim and the request."""
        claim = leases.claim

        def claim_and_stand_still(**named):
            return [replace(each, leased_until=now()) for each in claim(**named)]

        monkeypatch.setattr(leases, "claim", claim_and_stand_still)
        with zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            delivery = make_delivery(make_endpoint(url=door.url), at=now())
            made = drain_once()

        delivery.refresh_from_db()
        assert (made, door.connections) == (0, 0)
        assert (delivery.state, delivery.attempts_made) == (STATES.WAITING, 0)

    def test_leases_longer_than_any_exchange_can_last(self, settings):
        settings.WEBHOOK_TIMEOUT = 60
        with zoo.opened(zoo.slow(0.2)) as door:
            make_delivery(make_endpoint(url=door.url), at=now())
            running = in_background(drain_once)
            wait_until(lambda: door.requests)
            lease_ends_at = Delivery.objects.get().next_attempt_at
            running.join()

        assert lease_ends_at > timezone.now() + timedelta(seconds=70)


class TestIsolation:
    @pytest.mark.long
    def test_of_a_thousand_due_rows_at_a_hanging_endpoint_is_not_felt_by_others(self, settings):
        """In small what `benchmarks/webhooks.py --parts isolation` measures in full."""
        settings.WEBHOOK_TIMEOUT = 2
        sent_at = {}
        with zoo.opened(zoo.silent) as deaf, zoo.opened(zoo.answering(zoo.NO_CONTENT)) as door:
            make_deliveries(make_endpoint(url=deaf.url), 1000, at=now() - timedelta(hours=1))
            others = [make_endpoint(url=door.url) for _ in range(9)]
            running = in_background(lambda: drain_once(linger=10))
            wait_until(lambda: deaf.requests)
            for number in range(45):
                delivery = make_delivery(others[number % 9], at=timezone.now())
                sent_at[str(delivery.pk)] = time.monotonic()
                drain_once()  # as a ring does
                time.sleep(0.02)
            wait_until(lambda: len(door.requests) == 45)
            drains.stop_gracefully()
            running.join()

        delays = sorted(one.at - sent_at[one.header("X-Service-Idempotency-Key")] for one in door.requests)
        assert delays[int(45 * 0.95)] < 1
        assert len(deaf.requests) <= concurrency.PER_BUSINESS * 2


class Gauge:
    """Receivers that measure how many visitors are in at once."""

    def __init__(self):
        self._lock = threading.Lock()
        self._inside = 0
        self.seen = []

    @property
    def highest(self):
        return max(self.seen)

    def after(self, number):
        """Return how many were in when that visitor had come."""
        return self.seen[number - 1]

    def slowly(self, seconds):
        def receive(visit):
            while True:
                visit.read()
                self._count(1)
                time.sleep(seconds)
                self._count(-1)
                visit.send(zoo.NO_CONTENT)

        return receive

    def silently(self, visit):
        visit.read()
        self._count(1)
        visit.socket.recv(1)  # until the visitor has gone
        self._count(-1)

    def _count(self, change):
        with self._lock:
            self._inside += change
            if change > 0:
                self.seen.append(self._inside)
