"""Metrics: values, access, and counters of several processes."""

import re
from datetime import timedelta
from threading import Event

import pytest
from django.db import OperationalError
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve
from django.utils import timezone
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from config.logging.request_metrics import PROBLEMS_SENT, count_request
from config.models import beat
from operations import health, metrics
from payments.models import CardOperation, TraceCounter, Transaction
from payments.trace_numbers import BLOCK, PER_HOUR
from tests import orders
from tests.webhooks.rows import make_delivery, make_endpoint

pytestmark = pytest.mark.django_db


@pytest.fixture
def now(monkeypatch):
    """Freeze the clock, and return its time."""
    moment = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: moment)
    return moment


@pytest.fixture
def prometheus():
    return Client(raise_request_exception=False)


def samples(client, **headers):
    """Return the samples by name and labels."""
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    return read(answer.content.decode())


def read(text):
    """Return the samples by name and labels, without the buckets of histograms, which take most of the time."""
    lines = [line for line in text.splitlines() if "_bucket{" not in line]
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families("\n".join(lines))
        for sample in family.samples
    }


def count(found, name, **labels):
    return found.get((name, tuple(sorted(labels.items()))), 0)


class TestRequests:
    def test_are_counted_by_route_and_status(self, api, prometheus):
        labels = {"method": "GET", "route": "/api/payments/<str:reference>", "status": "404"}
        before = count(samples(prometheus), "sluice_request_duration_seconds_count", **labels)

        api.get("/api/payments/none-1")
        api.get("/api/payments/none-2")

        after = samples(prometheus)
        assert count(after, "sluice_request_duration_seconds_count", **labels) == before + 2
        assert not any("none-1" in str(labels) for _, labels in after)

    def test_share_one_route_if_unknown(self, prometheus):
        for path in ("/wp-login.php", "/%ff"):
            prometheus.generic("BREW", path)

        found = samples(prometheus)

        assert count(
            found, "sluice_request_duration_seconds_count", method="other", route="none", status="404"
        )
        assert not any("wp-login" in str(labels) for _, labels in found)

    def test_count_problems_by_code(self, prometheus):
        before = count(samples(prometheus), "sluice_problems_total", code="missing_header")

        prometheus.get("/api/payments")

        assert count(samples(prometheus), "sluice_problems_total", code="missing_header") == before + 1

    def test_add_no_statement_and_no_series(self, rf, prometheus, django_assert_num_queries):
        def series():
            return {labels for _, labels in samples(prometheus) if ("route", "/livez") in labels}

        def count_one(number):
            request = rf.get(f"/livez?{number}", REMOTE_ADDR=f"10.0.0.{number}")
            request.resolver_match = resolve("/livez")
            count_request(request, HttpResponse(), seconds=0.01)

        count_one(0)
        before = series()

        with django_assert_num_queries(0):
            for number in range(1, 100):
                count_one(number)

        assert before
        assert series() == before


class TestOutcomes:
    def test_are_counted_by_code(self, api, prometheus):
        labels = {"request_type": "payment", "payment_method": "card", "code": "20051"}
        before = count(samples(prometheus), "sluice_outcomes_total", **labels)

        api.post("/api/payments", orders.card_payment(amount=10_051))

        assert count(samples(prometheus), "sluice_outcomes_total", **labels) == before + 1


class TestRails:
    def test_are_timed_by_call_and_result(self, api, prometheus):
        answered = {"connector": "SandboxAcquirer", "call": "authorise", "result": "answered"}
        lost = answered | {"result": "AnswerLost"}
        name = "sluice_rail_duration_seconds_count"
        before = samples(prometheus)

        api.post("/api/payments", orders.card_payment(amount=10_000))
        api.post("/api/payments", orders.card_payment(amount=10_098))

        after = samples(prometheus)
        assert count(after, name, **answered) == count(before, name, **answered) + 1
        assert count(after, name, **lost) == count(before, name, **lost) + 1


class TestDatabase:
    def test_shows_due_and_unanswered_work(self, api, prometheus, now):
        assert count(samples(prometheus), "sluice_unanswered_transactions") == 0

        api.post("/api/payments", orders.card_payment(amount=10_098))
        Transaction.objects.update(created_at=now - timedelta(hours=2))

        found = samples(prometheus)
        assert count(found, "sluice_unanswered_transactions") == 1
        assert count(found, "sluice_oldest_unanswered_seconds") == 2 * 60 * 60
        assert count(found, "sluice_database_up") == 1
        assert count(found, "sluice_ledger_drift") == 0

    def test_counts_refunds_without_an_answer(self, api, prometheus, now, settings):
        order = orders.card_payment()
        api.post("/api/payments", order)
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
        api.post(f"/api/payments/{order['reference']}/refunds", {"reference": "rf", "amount": 100})
        CardOperation.objects.update(created_at=now - timedelta(hours=2))

        found = samples(prometheus)

        assert count(found, "sluice_unanswered_operations") == 1
        assert count(found, "sluice_oldest_unanswered_seconds") == 2 * 60 * 60

    def test_shows_how_long_the_oldest_delivery_has_been_due(self, ada, prometheus, now):
        make_delivery(make_endpoint(business=ada.business), next_attempt_at=now - timedelta(seconds=90))

        found = samples(prometheus)

        assert count(found, "sluice_deliveries_due") == 1
        assert count(found, "sluice_oldest_due_delivery_seconds") == 90

    def test_counts_no_test_events(self, ada, prometheus, now):
        late = now - timedelta(seconds=90)
        make_delivery(make_endpoint(business=ada.business), next_attempt_at=late, subject=None)

        found = samples(prometheus)

        assert count(found, "sluice_deliveries_due") == 0
        assert count(found, "sluice_oldest_due_delivery_seconds") == 0

    def test_shows_how_many_trace_numbers_the_hour_has_left(self, api, prometheus):
        assert count(samples(prometheus), "sluice_trace_numbers_left") == PER_HOUR

        assert api.post("/api/payments", orders.card_payment()).status_code == 201
        assert count(samples(prometheus), "sluice_trace_numbers_left") == PER_HOUR - BLOCK

        TraceCounter.objects.update(hour=F("hour") - 1)
        assert count(samples(prometheus), "sluice_trace_numbers_left") == PER_HOUR

    def test_shows_only_its_state_while_unavailable(self, prometheus, monkeypatch):
        def fail(*_):
            raise OperationalError("away")

        monkeypatch.setattr(metrics, "_deliveries", fail)

        found = samples(prometheus)

        assert count(found, "sluice_database_up") == 0
        assert ("sluice_deliveries_due", ()) not in found


class TestCommitWait:
    NAME = "sluice_longest_commit_wait_seconds"

    def test_is_zero_while_no_commit_waits(self, prometheus):
        assert samples(prometheus)[self.NAME, ()] == 0

    def test_is_reported_by_workers_too(self, monkeypatch):
        PROBLEMS_SENT.labels("not_found")
        monkeypatch.setattr(metrics, "longest_commit_wait", lambda: 7.5)
        monkeypatch.setattr(metrics.connection, "close", lambda: None)  # the test goes on with it

        found = read(generate_latest(metrics.of_worker()).decode())

        assert found[self.NAME, ()] == 7.5
        assert any(name == "sluice_problems_total" for name, _ in found)

    def test_is_missing_while_the_database_is_unavailable(self, monkeypatch):
        def fail():
            raise OperationalError("away")

        monkeypatch.setattr(metrics, "longest_commit_wait", fail)
        monkeypatch.setattr(metrics.connection, "close", lambda: None)

        assert (self.NAME, ()) not in read(generate_latest(metrics.of_worker()).decode())


class TestAccess:
    @pytest.mark.parametrize(
        ("caller", "token", "given", "status"),
        [
            ("127.0.0.1", "", "", 200),
            ("10.1.2.3", "", "", 403),
            ("10.1.2.3", "", "Bearer ", 403),
            ("10.1.2.3", "s3cret-token", "Bearer s3cret-token", 200),
            ("10.1.2.3", "s3cret-token", "Bearer another", 403),
            ("10.1.2.3", "s3cret-token", "Bearer é", 403),
            ("", "", "", 200),
            ("nonsense", "", "", 403),
        ],
    )
    def test_is_by_network_or_token(self, settings, caller, token, given, status):
        settings.METRICS_TOKEN = token
        client = Client(REMOTE_ADDR=caller, raise_request_exception=False)

        answer = client.get("/metrics", headers={"Authorization": given} if given else {})

        assert answer.status_code == status
        assert (b"sluice_" in answer.content) == (status == 200)

    def test_uses_the_client_address_behind_a_proxy(self, settings, prometheus):
        settings.PROXIES_IN_FRONT = 1

        assert prometheus.get("/metrics", headers={"X-Forwarded-For": "203.0.113.7"}).status_code == 403
        assert (
            prometheus.get("/metrics", headers={"X-Forwarded-For": "203.0.113.7, 127.0.0.1"}).status_code
            == 200
        )


class TestReadiness:
    @pytest.fixture(autouse=True)
    def _no_cached_readiness(self, monkeypatch):
        monkeypatch.setattr(health, "_migrated", Event())

    def ask(self):
        answer = Client(raise_request_exception=False).get("/readyz")
        return answer.status_code, answer.json()

    def test_is_ok_with_a_running_worker(self):
        beat(now=timezone.now())

        assert self.ask() == (
            200,
            {"status": "ok", "database": "ok", "migrations": "ok", "broker": "ok", "worker": "ok"},
        )

    @pytest.mark.parametrize(("age", "state"), [(None, "none"), (timedelta(minutes=2), "late")])
    def test_is_degraded_and_still_serves_without_a_worker(self, age, state):
        if age:
            beat(now=timezone.now() - age)

        status, body = self.ask()

        assert (status, body["status"], body["worker"]) == (200, "degraded", state)

    def test_is_degraded_and_still_serves_without_a_broker(self, settings):
        settings.REDIS_URL = "redis://127.0.0.1:1/0"
        beat(now=timezone.now())

        status, body = self.ask()

        assert (status, body["status"], body["broker"]) == (200, "degraded", "away")

    def test_is_available_under_any_host_name(self, settings):
        settings.ALLOWED_HOSTS = ["pay.shop.com"]

        assert (
            Client(raise_request_exception=False)
            .get("/readyz", headers={"Host": "10.0.0.7:8000"})
            .status_code
            == 200
        )

    def test_waits_for_migrations(self, monkeypatch):
        monkeypatch.setattr(health, "unapplied_migrations", lambda _: ["payments.0009_more"])

        assert self.ask() == (503, {"status": "unavailable", "database": "ok", "migrations": "missing"})

    def test_waits_for_the_database(self, monkeypatch):
        def fail():
            raise OperationalError("a secret of ours")

        monkeypatch.setattr(health, "has_migrated", fail)

        assert self.ask() == (503, {"status": "unavailable", "database": "away"})


class TestExposition:
    def test_has_help_and_type_for_all_our_metrics(self, api, prometheus):
        api.post("/api/payments", orders.card_payment(amount=10_000))

        text = prometheus.get("/metrics").content.decode()

        for name in set(re.findall(r"^(sluice_\w+?)(?:_bucket|_count|_sum)?(?:\{| )", text, re.MULTILINE)):
            assert f"# HELP {name} " in text, name
            assert f"# TYPE {name} " in text, name
