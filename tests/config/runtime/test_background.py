import gc
import threading
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from celery.signals import worker_shutting_down
from django.db import connections
from django.utils import timezone

from config.celery import FREQUENT, OCCASIONAL, app
from config.runtime import background
from config.runtime.background import Background
from kit import garbage_collection
from tests.webhooks import servers
from tests.webhooks.rows import make_deliveries, make_endpoint
from webhooks.models import Delivery

# The threads have their own database connections, so they see only committed rows.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _same_garbage_collection():
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.fixture
def worker(monkeypatch):
    """Run the threads of a worker without scheduled work for the duration of a test."""
    monkeypatch.setattr(background, "FREQUENT", [])
    step = Background(None)
    step.start(SimpleNamespace(app=app))
    yield step
    step.stop(None)


class TestBackground:
    def test_runs_in_every_worker(self):
        assert "config.runtime.background:Background" in app.steps["worker"]

    def test_makes_the_worker_collect_garbage_less_often(self, worker):
        assert gc.get_threshold()[0] == garbage_collection.YOUNG

    @pytest.mark.long
    @pytest.mark.parametrize("stopped_by", ["by the worker's step", "by the signal"])
    def test_finishes_requests_in_flight_and_leases_nothing_more_when_stopped(self, stopped_by, worker):
        with servers.opened(servers.slow(0.3)) as listener:
            made_at = timezone.now() - timedelta(seconds=1)
            make_deliveries(make_endpoint(url=listener.url), 12, at=made_at)
            while len(listener.requests) < 8:
                time.sleep(0.01)
            if stopped_by == "by the signal":
                worker_shutting_down.send(sender="a worker")
            worker.stop(None)

        assert len(listener.requests) == 8
        assert Delivery.objects.filter(state=Delivery.State.DELIVERED).count() == 8

    def test_does_the_work_of_the_queues_that_the_worker_consumes(self, monkeypatch):
        """Only what calls rails shares a process with re-query."""
        started = []
        monkeypatch.setattr(background, "start", lambda _app, jobs, _stopped: started.extend(jobs))
        queues = SimpleNamespace(consume_from={"requery": None})

        Background(None).start(SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues))))

        assert {job.task for job in started} == {
            "payments.requery_due",
            "payments.look_at_watches",
            "payments.ask_servers",
            "payments.notify_account_provider",
            "disputes.query_cases",
            "disputes.send_answers",
        }

    def test_knows_every_task(self):
        app.loader.import_default_modules()

        assert {job.task for job in [*FREQUENT, *OCCASIONAL]} <= app.tasks.keys()


class TestRepeat:
    def test_continues_after_a_failure_until_stopped(self):
        stopped, calls = threading.Event(), []

        def work():
            calls.append(True)
            if len(calls) == 3:
                stopped.set()
            raise RuntimeError

        background.repeat(work, every=0.01, stopped=stopped)

        assert len(calls) == 3

    def test_connects_again_after_a_failure(self):
        stopped, queried = threading.Event(), []

        def work():
            if queried:
                stopped.set()
            queried.append(Delivery.objects.count())
            if len(queried) == 1:
                connections["default"].connection.close()  # as the server does when it restarts
                Delivery.objects.count()

        thread = threading.Thread(
            target=background.repeat, args=(work,), kwargs={"every": 0.01, "stopped": stopped}
        )
        thread.start()
        thread.join(10)

        assert queried == [0, 0]
