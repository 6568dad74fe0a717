import gc
import threading
import time
from datetime import timedelta

import pytest
from celery.signals import worker_shutting_down
from django.db import OperationalError, connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.celery import app
from kit import garbage_collection
from tests.webhooks import servers
from tests.webhooks.rows import make_deliveries, make_delivery, make_endpoint
from webhooks import dispatcher, leases, poll
from webhooks.models import Delivery, Endpoint
from webhooks.worker import Poller

# Polling has its own database connection, so it sees only committed rows.
pytestmark = pytest.mark.django_db(transaction=True)
STATES = Delivery.State


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(poll, "INTERVAL", 0.05)
    monkeypatch.setattr(dispatcher, "LINGER", 0.2)


@pytest.fixture
def polling(monkeypatch):
    """Run a worker's polling for the duration of a test."""
    run = Poller._run

    def run_and_hang_up(step):
        try:
            run(step)
        finally:
            connections.close_all()

    monkeypatch.setattr(Poller, "_run", run_and_hang_up)
    step = Poller(None)
    step.start(None)
    yield step
    step.stop(None)


def now():
    return timezone.now() - timedelta(seconds=1)


def wait_until_delivered(count, seconds=5):
    end = time.monotonic() + seconds
    while Delivery.objects.filter(state=STATES.DELIVERED).count() < count:
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


class TestPolling:
    def test_runs_in_every_worker(self):
        assert "webhooks.worker:Poller" in app.steps["worker"]

    def test_makes_the_worker_collect_garbage_less_often(self, polling):
        assert gc.get_threshold()[0] == garbage_collection.YOUNG

    @pytest.mark.long
    def test_sends_deliveries_without_a_wake_up_signal(self, polling):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            endpoint = make_endpoint(url=listener.url)
            for number in (1, 2):
                make_delivery(endpoint, at=now())
                wait_until_delivered(number)
                time.sleep(dispatcher.LINGER * 2)  # no dispatcher is running when the next one is created

        assert len(listener.requests) == 2

    def test_sends_deliveries_held_while_the_endpoint_was_being_enabled(self, polling):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now(), state=STATES.HELD)
            wait_until_delivered(1)

    @pytest.mark.long
    @pytest.mark.parametrize("error", [OperationalError, RuntimeError])
    def test_continues_after_a_failure(self, error, monkeypatch, polling):
        works, failed = leases.has_work, threading.Event()

        def fails_at_first(*, at):
            if failed.is_set():
                return works(at=at)
            failed.set()
            raise error

        monkeypatch.setattr(leases, "has_work", fails_at_first)
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            make_delivery(make_endpoint(url=listener.url), at=now())
            assert failed.wait(5)
            wait_until_delivered(1)

    @pytest.mark.long
    @pytest.mark.parametrize("stopped_by", ["by the worker's step", "by the signal"])
    def test_finishes_requests_in_flight_and_leases_nothing_more_when_stopped(self, stopped_by, polling):
        with servers.opened(servers.slow(0.3)) as listener:
            make_deliveries(make_endpoint(url=listener.url), 12, at=now())
            while len(listener.requests) < 8:
                time.sleep(0.01)
            if stopped_by == "by the signal":
                worker_shutting_down.send(sender="a worker")
                polling._thread.join(5)
            else:
                polling.stop(None)

        assert not polling._thread.is_alive()
        assert len(listener.requests) == 8
        assert Delivery.objects.filter(state=STATES.DELIVERED).count() == 8


class TestHasWork:
    def test_costs_one_query(self):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            leases.has_work(at=timezone.now())

        assert len(queries) == 1

    @pytest.mark.parametrize(
        ("enabled", "state", "is_work"),
        [
            (True, STATES.WAITING, True),
            (True, STATES.HELD, True),
            (False, STATES.HELD, False),
            (True, STATES.DEAD, False),
            (True, STATES.SKIPPED, False),
        ],
    )
    def test_depends_on_state_and_endpoint(self, enabled, state, is_work):
        make_delivery(make_endpoint(), at=now(), state=state)
        Endpoint.objects.update(enabled=enabled)

        assert leases.has_work(at=timezone.now()) is is_work

    def test_begins_when_a_delivery_is_due(self):
        delivery = make_delivery(make_endpoint(), at=now())

        assert not leases.has_work(at=delivery.next_attempt_at - timedelta(microseconds=1))
        assert leases.has_work(at=delivery.next_attempt_at)
