import hashlib
import hmac
import threading
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import InternalError, OperationalError, connection, connections
from django.utils import timezone

from tests.faults.proxy import PostgreSQLWire, proxied
from tests.racing import racers
from tests.webhooks import servers
from tests.webhooks.rows import (
    ADA,
    DATA,
    DELIVERED,
    KEY,
    make_deliveries,
    make_delivery,
    make_endpoint,
    record,
)
from webhooks import services
from webhooks.endpoints import held_deliveries
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.sending import concurrency, dispatcher, leases, results, wake_up
from webhooks.sending.dispatcher import Dispatcher
from webhooks.signing import sign, standard_headers

# Dispatchers have their own database connections, so they see only committed rows.
pytestmark = pytest.mark.django_db(transaction=True)
STATES = Delivery.State


@pytest.fixture(autouse=True)
def _short_timeouts(settings):
    settings.WEBHOOK_TIMEOUT = 0.6


def now():
    return timezone.now() - timedelta(seconds=1)


def wait_until(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.01)


needs_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no clock but this process's"
)


def set_host_clock(monkeypatch, ahead):
    """Set the host's clock to a different time from the database's."""

    monkeypatch.undo()  # the clock that the tests patch

    class Skewed(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + ahead

    monkeypatch.setattr(timezone, "datetime", Skewed)


def wait_until_silent():
    """Wait until a request in flight counts as long unanswered."""
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


def dispatch_due():
    return Dispatcher().run(once=True)


@contextmanager
def sending():
    """Run a dispatcher for the duration of a test, and let it finish at the end."""
    stopped = threading.Event()
    running = in_background(Dispatcher(stopped=stopped).run)
    try:
        yield stopped
    finally:
        stopped.set()
        running.join()


@contextmanager
def silent_to_one_request():
    """Open an endpoint that has left one first attempt unanswered for long; let the dispatcher finish at
    the end.
    """
    with servers.opened(servers.silent) as listener:
        endpoint = make_endpoint(url=listener.url)
        make_delivery(endpoint, at=now())
        running = in_background(dispatch_due)
        wait_until(lambda: listener.requests)
        wait_until_silent()
        yield listener, endpoint
        running.join()


@pytest.fixture
def through_proxy(monkeypatch, transactional_db):
    """Route the dispatcher's PostgreSQL connections through a proxy."""
    connection.ensure_connection()  # the test's own connection does not use it
    with proxied(int(connection.settings_dict["PORT"] or 5432), PostgreSQLWire) as proxy:
        options = connection.settings_dict["OPTIONS"] | {"sslmode": "disable", "gssencmode": "disable"}
        for name, value in {"HOST": "127.0.0.1", "PORT": str(proxy.port), "OPTIONS": options}.items():
            monkeypatch.setitem(connection.settings_dict, name, value)
        yield proxy


class TestRequest:
    def test_is_signed_and_named_as_the_contract_says(self):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            delivery = make_delivery(make_endpoint(url=listener.url), at=now())
            made = dispatch_due()

        (request,) = listener.requests
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

    def test_of_a_test_event_is_marked_and_not_counted(self):
        counted = dispatcher.ATTEMPTS.labels("delivered")
        before = counted._value.get()
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            endpoint = make_endpoint(url=listener.url)
            services.send_test_event(business=endpoint.business, data=DATA, now=now())
            make_delivery(endpoint, at=now())
            dispatch_due()

        headers = [request.header("X-Service-Test") for request in listener.requests]
        assert sorted(headers, key=str) == [None, "true"]
        assert counted._value.get() == before + 1

    @pytest.mark.long
    def test_has_the_same_id_and_body_in_every_attempt_and_the_current_key(self, settings):
        settings.WEBHOOK_RETRY_DELAYS = [0, 0]
        with servers.opened(servers.answering(servers.status(503))) as listener:
            endpoint = make_endpoint(url=listener.url)
            make_delivery(endpoint, at=now())
            dispatch_due()
            rotated = services.rotate_hash_key(business=endpoint.business, actor=ADA, now=now())
            list(services.replay(Delivery.objects.values_list("pk", flat=True), actor=ADA, now=now()))
            dispatch_due()

        first, *_, last = listener.requests
        assert [request.header("X-Service-Attempt") for request in listener.requests] == ["1", "2", "3"]
        assert len({request.body for request in listener.requests}) == 1
        assert len({request.header("X-Service-Idempotency-Key") for request in listener.requests}) == 1
        new = hmac.new(rotated.new_hash_key.encode(), last.body, hashlib.sha256).hexdigest()
        assert first.header("X-Service-Signature") != last.header("X-Service-Signature") == new

    def test_has_the_signature_of_the_old_key_while_a_rotation_overlaps(self):
        with servers.opened(servers.answering(servers.status(204))) as listener:
            endpoint = make_endpoint(url=listener.url)
            older, old = endpoint.hash_key, None
            for at in (now() - timedelta(hours=1), now() - timedelta(minutes=30)):
                old = Endpoint.objects.get().hash_key
                services.rotate_hash_key(
                    business=endpoint.business, actor=ADA, now=at, overlap=timedelta(hours=1)
                )
            make_delivery(endpoint, at=now())
            dispatch_due()
            Endpoint.objects.update(previous_key_ends_at=now())
            make_delivery(endpoint, at=now())
            dispatch_due()

        during, after = listener.requests
        new = Endpoint.objects.get().hash_key
        assert during.header("X-Service-Signature") == sign(new, during.body)
        assert (
            during.header("X-Service-Signature-Previous")
            == sign(old, during.body)
            != sign(older, during.body)
        )
        assert after.header("X-Service-Signature") == sign(new, after.body)
        assert after.header("X-Service-Signature-Previous") is None

    def test_of_a_retry_has_one_signature_once_the_overlap_has_ended(self):
        with servers.opened(servers.answering(servers.status(503))) as listener:
            endpoint = make_endpoint(url=listener.url, standard_webhooks=True)
            old = endpoint.hash_key
            services.rotate_hash_key(
                business=endpoint.business, actor=ADA, now=now(), overlap=timedelta(hours=1)
            )
            make_delivery(endpoint, at=now())
            dispatch_due()
            Endpoint.objects.update(previous_key_ends_at=now())
            Delivery.objects.update(next_attempt_at=now())
            dispatch_due()

        first, retry = listener.requests
        new = Endpoint.objects.get().hash_key
        assert first.header("X-Service-Signature-Previous") == sign(old, first.body)
        assert retry.header("X-Service-Signature") == sign(new, retry.body)
        assert retry.header("X-Service-Signature-Previous") is None
        assert (first.body, retry.header("X-Service-Attempt")) == (retry.body, "2")
        assert [each.header("webhook-signature").count("v1,") for each in (first, retry)] == [2, 1]

    def test_has_the_headers_of_standard_webhooks_beside_ours(self):
        with servers.opened(servers.answering(servers.status(204))) as listener:
            endpoint = make_endpoint(url=listener.url, standard_webhooks=True, made_by_api=True)
            old = endpoint.hash_key
            services.rotate_hash_key(
                business=endpoint.business, actor=ADA, now=now(), overlap=timedelta(hours=1)
            )
            delivery = make_delivery(endpoint, at=now())
            dispatch_due()
            Endpoint.objects.update(previous_key_ends_at=now())
            make_delivery(endpoint, at=now())
            dispatch_due()

        during, after = listener.requests
        new = Endpoint.objects.get().hash_key
        sent_at = datetime.fromtimestamp(int(during.header("webhook-timestamp")), tz=UTC)
        for name, value in standard_headers(
            [new, old], delivery_id=delivery.pk, at=sent_at, body=during.body
        ).items():
            assert during.header(name) == value
        assert during.header("X-Service-Signature") == sign(new, during.body)
        assert during.header("X-Service-Version") == "2026-11-01"
        assert after.header("webhook-signature").count("v1,") == 1

    def test_has_only_our_headers_by_default(self):
        with servers.opened(servers.answering(servers.status(204))) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            dispatch_due()

        (request,) = listener.requests
        names = ("webhook-id", "webhook-signature", "X-Service-Version", "X-Service-Signature-Previous")
        assert [request.header(name) for name in names] == [None] * 4

    @pytest.mark.long
    def test_endpoint_that_hangs_delays_no_other_of_its_business(self, settings):
        settings.WEBHOOK_TIMEOUT = 3
        with (
            servers.opened(servers.answering(servers.status(204))) as healthy,
            servers.opened(servers.silent) as hanging,
        ):
            first = make_endpoint(url=hanging.url)
            second = make_endpoint(url=healthy.url, business=first.business, number=1)
            make_deliveries(first, 12, at=now() - timedelta(minutes=1))
            make_deliveries(second, 12, at=now())
            began = time.monotonic()
            runner = threading.Thread(target=dispatch_due)
            runner.start()
            while len(healthy.requests) < 12 and time.monotonic() - began < 10:
                time.sleep(0.02)
            took = time.monotonic() - began
            runner.join()

        assert len(healthy.requests) == 12
        assert took < settings.WEBHOOK_TIMEOUT

    def test_is_recorded_with_the_answer(self):
        with servers.opened(servers.answering(servers.status(422, body=b"not like this"))) as listener:
            delivery = make_delivery(make_endpoint(url=listener.url), at=now())
            dispatch_due()

        attempt = Attempt.objects.get()
        assert (attempt.delivery_id, attempt.number, attempt.status) == (delivery.pk, 1, 422)
        assert (attempt.error, attempt.address) == ("client_error", "127.0.0.1")
        assert bytes(attempt.excerpt) == b"not like this"
        assert attempt.wait_ms > 0

    def test_is_recorded_without_card_numbers(self):
        answer = b"no order 4084.0840.8408.4081 or 4084084084084081"
        with servers.opened(servers.answering(servers.status(422, body=answer))) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            dispatch_due()

        assert bytes(Attempt.objects.get().excerpt) == b"no order 408408******4081 or 408408******4081"

    def test_is_not_made_to_a_private_address(self):
        make_delivery(make_endpoint(url="http://10.0.0.1/hook"), at=now())

        dispatch_due()

        assert Attempt.objects.get().error == "blocked_address"

    def test_is_not_made_to_loopback_unless_its_network_is_allowed(self, settings):
        settings.WEBHOOK_ALLOW_CIDRS = []
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            dispatch_due()

        assert Attempt.objects.get().error == "blocked_address"
        assert listener.connections == 0


class TestDispatcher:
    def test_with_nothing_due_ends_at_once(self):
        assert dispatch_due() == 0

    def test_sends_deliveries_held_while_the_endpoint_was_being_enabled(self):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now(), state=STATES.HELD)
            dispatch_due()

        assert len(listener.requests) == 1

    def test_releases_held_deliveries_of_an_enabled_endpoint_during_a_long_run(self, monkeypatch):
        """A worker's dispatcher does not end while there are due deliveries."""
        monkeypatch.setattr(dispatcher, "INTERVAL", 0.1)
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            endpoint = make_endpoint(url=listener.url)
            make_delivery(endpoint, at=now())
            with sending():
                wait_until(lambda: listener.requests)

                make_delivery(endpoint, at=now(), state=STATES.HELD)
                wait_until(lambda: len(listener.requests) == 2)

    def test_drops_what_is_held_at_an_enabled_endpoint_for_over_seven_days(self):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            endpoint = make_endpoint(url=listener.url)
            old = make_delivery(endpoint, at=now() - timedelta(days=7, seconds=1), state=STATES.HELD)
            young = make_delivery(endpoint, at=now() - timedelta(days=6), state=STATES.HELD)
            dispatch_due()

        old.refresh_from_db()
        assert [request.header("X-Service-Idempotency-Key") for request in listener.requests] == [
            str(young.pk)
        ]
        assert old.state == STATES.SKIPPED

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("module", "step"),
        [(held_deliveries, "release_stragglers"), (leases, "acquire"), (results, "record_results")],
    )
    def test_records_results_after_the_database_was_unavailable(self, module, step, monkeypatch):
        works, calls = getattr(module, step), []

        def unavailable_at_first(*arguments, **named):
            calls.append(step)
            if len(calls) == 1:
                raise OperationalError
            return works(*arguments, **named)

        monkeypatch.setattr(module, step, unavailable_at_first)
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            delivery = make_delivery(make_endpoint(url=listener.url), at=now())
            made = dispatch_due()

        delivery.refresh_from_db()
        assert (made, len(listener.requests), Attempt.objects.count()) == (1, 1, 1)
        assert delivery.state == STATES.DELIVERED

    @pytest.mark.long
    @pytest.mark.parametrize(
        "receiver",
        [
            servers.silent,
            servers.header_drip,
            servers.continue_flood,
            servers.header_flood,
            servers.reset,
            servers.garbage,
            servers.closing_without_answer,
        ],
    )
    def test_schedules_a_retry_for_every_kind_of_bad_peer(self, receiver):
        with servers.opened(receiver) as listener:
            delivery = make_delivery(make_endpoint(url=listener.url), at=now())
            dispatch_due()

        delivery.refresh_from_db()
        ended_at = Attempt.objects.get().started_at
        assert (delivery.state, delivery.attempts_made) == (STATES.WAITING, 1)
        assert timedelta(seconds=15) < delivery.next_attempt_at - ended_at < timedelta(seconds=46)

    def test_sends_each_delivery_once_when_two_run_at_once(self, settings):
        settings.WEBHOOK_TIMEOUT = 60  # both dispatchers and all receivers are threads of this process
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            for _ in range(10):
                make_deliveries(make_endpoint(url=listener.url), 20, at=now())
            with racers(2) as two:
                made = two.race(dispatch_due, dispatch_due)

        sent = Counter(request.header("X-Service-Idempotency-Key") for request in listener.requests)
        assert sum(made) == 200
        assert set(sent.values()) == {1}
        assert len(sent) == Attempt.objects.count() == 200
        assert not Delivery.objects.exclude(state=STATES.DELIVERED).exists()

    def test_gives_no_business_more_than_its_share(self):
        most = Gauge()
        with servers.opened(most.slowly(0.05)) as listener:
            make_deliveries(make_endpoint(url=listener.url), 30, at=now())
            dispatch_due()

        assert len(listener.requests) == 30
        assert most.highest <= concurrency.PER_BUSINESS

    @pytest.mark.long
    def test_starts_two_first_attempts_at_a_slow_endpoint_at_once_and_the_third_after_an_answer(
        self, monkeypatch, settings
    ):
        settings.WEBHOOK_TIMEOUT = 2
        monkeypatch.setattr(concurrency, "SLOW_AFTER", 0.1)
        with silent_to_one_request() as (listener, endpoint):
            later = make_deliveries(endpoint, 2, at=now())

        first, second, third = listener.requests
        assert second.at - first.at < settings.WEBHOOK_TIMEOUT * 0.9
        assert second.header("X-Service-Idempotency-Key") == str(later[0].pk)
        assert third.at - first.at > settings.WEBHOOK_TIMEOUT * 0.9

    @pytest.mark.long
    def test_sends_no_retry_to_a_silent_endpoint_that_has_not_answered_a_first_attempt(
        self, monkeypatch, settings
    ):
        settings.WEBHOOK_TIMEOUT = 2
        monkeypatch.setattr(concurrency, "SLOW_AFTER", 0.1)
        with silent_to_one_request() as (listener, endpoint):
            make_deliveries(endpoint, 3, at=now() - timedelta(minutes=1), attempts_made=1)

        first, *retries = listener.requests
        assert [request.header("X-Service-Attempt") for request in retries] == ["2", "2", "2"]
        assert min(request.at for request in retries) - first.at > settings.WEBHOOK_TIMEOUT * 0.9

    @pytest.mark.long
    def test_leaves_two_places_of_a_silent_endpoint(self):
        most = Gauge()
        with servers.opened(most.silently) as listener:
            make_deliveries(make_endpoint(url=listener.url), 12, at=now())
            dispatch_due()

        assert most.after(8) == 8
        assert max(most.after(number) for number in (9, 10, 11, 12)) == 2
        assert Attempt.objects.filter(error="timeout").count() == 12

    @pytest.mark.long
    def test_ignores_requests_in_flight_in_another_process(self, monkeypatch, settings):
        """Two dispatchers with separate state simulate two processes; each has all places of a business."""
        settings.WEBHOOK_TIMEOUT = 2
        monkeypatch.setattr(concurrency, "SLOW_AFTER", 0.1)
        with servers.opened(servers.silent) as listener:
            endpoint = make_endpoint(url=listener.url)
            make_deliveries(endpoint, 2, at=now())
            first = in_background(dispatch_due)
            wait_until(lambda: len(listener.requests) == 2)
            wait_until_silent()
            make_deliveries(endpoint, 20, at=now() - timedelta(minutes=1), attempts_made=1)
            third = make_delivery(endpoint, at=now())
            with sending():
                wait_until(lambda: len(listener.requests) >= 9)
                was_running = first.is_alive()
            first.join()

        of_the_other = listener.requests[2:9]
        assert was_running
        assert Counter(request.header("X-Service-Attempt") for request in of_the_other) == {"1": 1, "2": 6}
        assert str(third.pk) in {request.header("X-Service-Idempotency-Key") for request in of_the_other}

    def test_retries_a_lease_whose_commit_was_not_acknowledged_and_sends_at_once(self, monkeypatch):
        acquire, calls = leases.acquire, []

        def unacknowledged_at_first(**named):
            leased = acquire(**named)
            calls.append(len(leased.deliveries))
            if len(calls) == 1:
                raise OperationalError("server closed the connection unexpectedly")
            return leased

        monkeypatch.setattr(leases, "acquire", unacknowledged_at_first)
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            delivery = make_delivery(make_endpoint(url=listener.url), at=now())
            dispatch_due()

        delivery.refresh_from_db()
        assert (calls[:2], len(listener.requests)) == ([1, 1], 1)
        assert delivery.state == STATES.DELIVERED

    @needs_postgresql
    def test_sends_at_once_after_the_response_to_a_lease_commit_was_lost(self, through_proxy):
        """PostgreSQL may be killed right after the commit. The deliveries must not wait for the lease to end."""
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            delivery = make_delivery(make_endpoint(url=listener.url), at=now())
            with through_proxy.dropping_a_response():
                made = dispatch_due()

        delivery.refresh_from_db()
        assert len(through_proxy.dropped) == 1
        assert (made, len(listener.requests)) == (1, 1)
        assert (delivery.state, delivery.attempts_made) == (STATES.DELIVERED, 1)

    @needs_postgresql
    def test_sends_nothing_twice_although_the_clock_of_its_host_is_an_hour_fast(self, monkeypatch):
        with servers.opened(servers.slow(0.4)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            running = in_background(dispatch_due)
            wait_until(lambda: listener.requests)
            set_host_clock(monkeypatch, timedelta(hours=1))
            made = dispatch_due()
            running.join()

        assert (made, len(listener.requests)) == (0, 1)
        assert Delivery.objects.get().state == STATES.DELIVERED

    @needs_postgresql
    def test_retries_at_the_time_of_the_database_although_its_host_is_an_hour_slow(self, monkeypatch):
        with servers.opened(servers.answering(servers.status(503))) as listener:
            delivery = make_delivery(make_endpoint(url=listener.url), at=now())
            set_host_clock(monkeypatch, timedelta(hours=-1))
            made = dispatch_due()

        delivery.refresh_from_db()
        wait = delivery.next_attempt_at - delivery.created_at
        assert (made, len(listener.requests)) == (1, 1)
        assert timedelta(seconds=15) < wait < timedelta(seconds=60)

    @pytest.mark.long
    def test_does_not_delay_others_for_a_silent_endpoint(self):
        with (
            servers.opened(servers.silent) as deaf,
            servers.opened(servers.answering(servers.NO_CONTENT)) as listener,
        ):
            make_deliveries(make_endpoint(url=deaf.url), 8, at=now() - timedelta(minutes=1))
            make_deliveries(make_endpoint(url=listener.url), 20, at=now())
            dispatch_due()

        assert len(listener.requests) == 20
        assert max(request.at for request in listener.requests) < min(r.at for r in deaf.requests) + 0.4

    def test_finishes_requests_in_flight_and_leases_nothing_more_when_stopped(self):
        with servers.opened(servers.slow(0.3)) as listener:
            make_deliveries(make_endpoint(url=listener.url), 12, at=now())
            with sending():
                wait_until(lambda: len(listener.requests) == 8)

        assert len(listener.requests) == 8
        assert Delivery.objects.filter(state=STATES.DELIVERED).count() == 8
        waiting = Delivery.objects.filter(state=STATES.WAITING)
        assert {row.lease_token for row in waiting} == {None}

    def test_looks_at_once_when_a_signal_comes(self, monkeypatch, notify):
        monkeypatch.setattr(dispatcher, "INTERVAL", 60)
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener, sending() as stopped:
            endpoint = make_endpoint(url=listener.url)
            time.sleep(0.3)  # it has looked, found nothing, and waits
            for number in (1, 2):
                make_delivery(endpoint, at=now())
                notify()
                wait_until(lambda: len(listener.requests) == number)  # noqa: B023
            stopped.set()
            notify()

    def test_looks_every_second_without_a_signal(self):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener, sending():
            endpoint = make_endpoint(url=listener.url)
            time.sleep(0.3)
            make_delivery(endpoint, at=now())
            wait_until(lambda: listener.requests, seconds=1.5)

    def test_looks_once_for_each_signal_if_all_have_a_place(self, monkeypatch, notify):
        """Each look costs as much CPU as sending a delivery."""
        monkeypatch.setattr(
            wake_up, "CHANNEL", f"sluice.webhooks.{uuid.uuid4()}"
        )  # not that of other test processes
        acquire, looks = leases.acquire, []

        def counted(**named):
            looks.append(acquire(**named))
            return looks[-1]

        monkeypatch.setattr(leases, "acquire", counted)
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener, sending():
            endpoint = make_endpoint(url=listener.url)
            time.sleep(0.3)
            looks.clear()
            make_delivery(endpoint, at=now())
            notify()
            wait_until(lambda: Delivery.objects.filter(state=STATES.DELIVERED).exists())
            time.sleep(0.1)

        assert len(listener.requests) == len(looks) == 1

    @pytest.mark.long
    def test_starts_again_after_a_failure(self, monkeypatch):
        works, failed = leases.has_work, threading.Event()

        def fails_at_first(*, at):
            if failed.is_set():
                return works(at=at)
            failed.set()
            raise RuntimeError

        monkeypatch.setattr(leases, "has_work", fails_at_first)
        monkeypatch.setattr(dispatcher, "INTERVAL", 0.1)
        stopped = threading.Event()
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            running = in_background(lambda: dispatcher.send_due(stopped))
            assert failed.wait(5)
            make_delivery(make_endpoint(url=listener.url), at=now())
            wait_until(lambda: listener.requests)
            stopped.set()
            running.join()

    @pytest.mark.long
    def test_leaves_two_places_of_an_endpoint_that_was_silent_before(self, settings):
        settings.WEBHOOK_TIMEOUT = 0.5
        with servers.opened(servers.silent) as deaf, sending():
            endpoint = make_endpoint(url=deaf.url)
            make_delivery(endpoint, at=now())
            wait_until(Attempt.objects.exists)
            make_deliveries(endpoint, 5, at=now())
            wait_until(lambda: len(deaf.requests) == 3)
            time.sleep(0.2)

            assert len(deaf.requests) == 3

    def test_counts_results_that_come_after_the_lease_as_lost(self):
        with servers.opened(servers.slow(0.3)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            running = in_background(dispatch_due)
            wait_until(lambda: listener.requests)
            taken_over = leases.acquire(
                at=timezone.now() + timedelta(minutes=5),
                until=timezone.now() + timedelta(minutes=6),
                token=Endpoint.objects.get().business_id,
                limit=1,
            ).deliveries
            running.join()

        assert [each.number for each in taken_over] == [1]
        assert not Attempt.objects.exists()
        assert record(taken_over, DELIVERED) == 0
        assert Attempt.objects.get().number == 1

    def test_sends_nothing_when_the_lease_ended_before_the_request(self, monkeypatch):
        """The process may have been suspended between the lease and the request."""
        acquire = leases.acquire

        def acquire_with_expired_lease(**named):
            acquired = acquire(**named)
            expired = [replace(each, leased_until=now()) for each in acquired.deliveries]
            return acquired._replace(deliveries=expired)

        monkeypatch.setattr(leases, "acquire", acquire_with_expired_lease)
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            delivery = make_delivery(make_endpoint(url=listener.url), at=now())
            made = dispatch_due()

        delivery.refresh_from_db()
        assert (made, listener.connections) == (0, 0)
        assert (delivery.state, delivery.attempts_made) == (STATES.WAITING, 0)

    def test_is_sent_again_within_15_seconds_after_its_sender_was_killed(self, settings):
        settings.WEBHOOK_TIMEOUT = 60
        with servers.opened(servers.slow(0.2)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            running = in_background(dispatch_due)
            wait_until(lambda: listener.requests)
            lease_ends_at = Delivery.objects.get().next_attempt_at
            running.join()

        assert lease_ends_at + timedelta(seconds=dispatcher.INTERVAL) < timezone.now() + timedelta(seconds=14)

    @pytest.mark.long
    def test_renews_a_lease_while_the_request_lasts(self, monkeypatch, settings):
        settings.WEBHOOK_TIMEOUT = 5
        monkeypatch.setattr(dispatcher, "LEASE", timedelta(seconds=1))
        monkeypatch.setattr(dispatcher, "RENEW_EVERY", 0.2)
        with servers.opened(servers.slow(2.5)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            running = in_background(dispatch_due)
            wait_until(lambda: listener.requests)
            made = 0
            while running.is_alive():
                made += dispatch_due()
                time.sleep(0.1)

        assert (made, len(listener.requests)) == (0, 1)
        assert Delivery.objects.get().state == STATES.DELIVERED

    def test_renews_leases_in_the_thread_that_records(self, monkeypatch, settings):
        """Two statements that update the same rows at the same time could deadlock."""
        settings.WEBHOOK_TIMEOUT = 5
        monkeypatch.setattr(dispatcher, "RENEW_EVERY", 0.1)
        renew, record_results, threads = leases.renew, results.record_results, []

        def noted(work):
            def run(*arguments, **named):
                threads.append(threading.current_thread())
                return work(*arguments, **named)

            return run

        monkeypatch.setattr(leases, "renew", noted(renew))
        monkeypatch.setattr(results, "record_results", noted(record_results))
        with servers.opened(servers.slow(0.3)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            dispatch_due()

        assert len(threads) >= 2
        assert len(set(threads)) == 1

    def test_renews_leases_again_after_a_renewal_failed(self, monkeypatch, settings):
        """Such as in a database that a failover has left read-only."""
        settings.WEBHOOK_TIMEOUT = 5
        monkeypatch.setattr(dispatcher, "RENEW_EVERY", 0.1)
        renewed = []

        def fail_at_first(held, *, until):
            renewed.append(until)
            if len(renewed) == 1:
                raise InternalError

        monkeypatch.setattr(leases, "renew", fail_at_first)
        with servers.opened(servers.slow(1)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            dispatch_due()

        assert len(renewed) > 1

    def test_sends_once_after_an_outage_of_the_database_that_outlasts_the_lease(self, monkeypatch):
        monkeypatch.setattr(dispatcher, "LEASE", timedelta(seconds=0.5))
        monkeypatch.setattr(dispatcher, "RENEW_EVERY", 0.1)
        monkeypatch.setattr(dispatcher, "INTERVAL", 0.1)

        def begin_outage(module, step, seconds):
            works, ends_at = getattr(module, step), time.monotonic() + seconds

            def work(*arguments, **named):
                if time.monotonic() < ends_at:
                    raise OperationalError
                return works(*arguments, **named)

            monkeypatch.setattr(module, step, work)

        with servers.opened(servers.slow(0.3)) as listener, sending():
            delivery = make_delivery(make_endpoint(url=listener.url), at=now())
            wait_until(lambda: listener.requests)
            begin_outage(leases, "has_work", 1.5)
            begin_outage(leases, "acquire", 1.5)
            begin_outage(leases, "renew", 1.8)  # another connection, which comes back later
            begin_outage(results, "record_results", 1.8)
            wait_until(Attempt.objects.exists)

        delivery.refresh_from_db()
        assert (delivery.state, len(listener.requests)) == (STATES.DELIVERED, 1)

    def test_waits_idly_for_requests_in_flight_when_stopped(self, monkeypatch, settings):
        settings.WEBHOOK_TIMEOUT = 5
        monkeypatch.setattr(dispatcher, "INTERVAL", 0.1)
        wait_for_change, waits = Dispatcher._wait_for_change, []

        async def counted(self):
            waits.append(self)
            await wait_for_change(self)

        monkeypatch.setattr(Dispatcher, "_wait_for_change", counted)
        with servers.opened(servers.slow(0.5)) as listener, sending() as stopped:
            make_delivery(make_endpoint(url=listener.url), at=now())
            wait_until(lambda: listener.requests)
            stopped.set()

        assert Delivery.objects.get().state == STATES.DELIVERED
        assert len(waits) < 50


class TestIsolation:
    @pytest.mark.long
    def test_thousand_due_rows_of_a_hanging_endpoint_do_not_delay_others(self, settings, notify):
        """A small version of `benchmarks/webhooks.py --parts isolation`."""
        settings.WEBHOOK_TIMEOUT = 2
        sent_at = {}
        with (
            servers.opened(servers.silent) as deaf,
            servers.opened(servers.answering(servers.NO_CONTENT)) as listener,
        ):
            make_deliveries(make_endpoint(url=deaf.url), 1000, at=now() - timedelta(hours=1))
            others = [make_endpoint(url=listener.url) for _ in range(9)]
            with sending():
                wait_until(lambda: deaf.requests)
                for number in range(45):
                    delivery = make_delivery(others[number % 9], at=timezone.now())
                    sent_at[str(delivery.pk)] = time.monotonic()
                    notify()
                    time.sleep(0.02)
                wait_until(lambda: len(listener.requests) == 45)

        delays = sorted(
            one.at - sent_at[one.header("X-Service-Idempotency-Key")] for one in listener.requests
        )
        assert delays[int(45 * 0.95)] < 1
        assert len(deaf.requests) <= concurrency.PER_BUSINESS * 2


class Gauge:
    """Receivers that record the number of concurrent requests."""

    def __init__(self):
        self._lock = threading.Lock()
        self._concurrent = 0
        self.seen = []

    @property
    def highest(self):
        return max(self.seen)

    def after(self, number):
        """Return the number of concurrent requests when this one had arrived."""
        return self.seen[number - 1]

    def slowly(self, seconds):
        def receive(visit):
            while True:
                visit.read()
                self._count(1)
                time.sleep(seconds)
                self._count(-1)
                visit.send(servers.NO_CONTENT)

        return receive

    def silently(self, visit):
        visit.read()
        self._count(1)
        visit.socket.recv(1)  # until the client disconnects
        self._count(-1)

    def _count(self, change):
        with self._lock:
            self._concurrent += change
            if change > 0:
                self.seen.append(self._concurrent)
