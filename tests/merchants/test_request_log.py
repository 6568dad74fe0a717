"""The request log stores calls without secrets, and doesn't delay them."""

from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone
from freezegun import freeze_time

from merchants.api import request_log as module
from merchants.api.request_log import request_log
from merchants.models import ApiKey, ApiRequest, FailedCallCount
from tests import orders
from tests.clients import Credentials, InProcessClient

pytestmark = pytest.mark.django_db


@contextmanager
def failing_database(monkeypatch, function):
    """Make a function of the request log fail, and keep the test's connection open."""

    def fail(_argument):
        raise DatabaseError

    with monkeypatch.context() as patched:
        patched.setattr(module, function, fail)
        patched.setattr(module, "connection", SimpleNamespace(close=lambda: None))
        yield


def logged():
    request_log.flush()
    return list(ApiRequest.objects.order_by("pk"))


class TestCall:
    def test_is_stored_with_its_identifiers(self, api, ada):
        answer = api.get("/api/payments?limit=5", **{"X-Request-Id": "order-7"})

        (call,) = logged()
        assert answer["X-Request-Id"] == call.request_id == "order-7"
        assert (call.method, call.target, call.status) == ("GET", "/api/payments?limit=5", 200)
        assert (call.business, call.key, call.code) == (ada.business, ada.public_id, "")

    def test_is_stored_with_its_error_code(self, api):
        api.post("/api/payments", {"request_type": "payment"})
        api.get("/api/payments/unknown")

        assert [(call.status, call.code) for call in logged()] == [
            (400, "invalid_request"),
            (404, "not_found"),
        ]

    def test_is_stored_with_a_wrong_signature_of_a_known_key(self, ada):
        InProcessClient(Credentials(ada.public_id, "sk_wrong")).get("/api/banks")

        (call,) = logged()
        assert (call.business, call.status, call.code) == (ada.business, 401, "invalid_signature")

    def test_is_not_stored_for_an_unknown_key(self):
        InProcessClient(Credentials("pk_sandbox_unknown", "sk_wrong")).get("/api/banks")

        assert logged() == []

    def test_never_contains_a_card_number_or_a_secret(self, api, ada):
        api.post("/api/payments", orders.card_payment())
        api.get("/api/payments/4084084084084081?status=4084084084084081")

        stored = str(list(ApiRequest.objects.values())) + str([vars(call) for call in logged()])
        for secret in ("4084084084084081", ada.secret, "408408408408", '"cvv"'):
            assert secret not in stored

    @pytest.mark.parametrize("blank", ["%20", "%2D", "+", "-", "."])
    def test_masks_encoded_card_numbers(self, api, blank):
        api.get(f"/api/payments?cursor={blank.join(['4084', '0840', '8408', '4081'])}")

        assert [call.target for call in logged()] == ["/api/payments?cursor=408408******4081"]

    def test_updates_when_a_key_was_last_used(self, api, ada):
        api.get("/api/banks")
        type(ada).objects.filter(pk=ada.pk).update(last_used_at=timezone.now() - timedelta(hours=1))
        api.get("/api/banks")

        request_log.flush()

        ada.refresh_from_db()
        assert timezone.now() - ada.last_used_at < timedelta(minutes=1)

    def test_does_not_count_as_use_with_a_wrong_signature(self, ada):
        InProcessClient(Credentials(ada.public_id, "sk_wrong")).get("/api/banks")
        request_log.flush()

        ada.refresh_from_db()
        assert ada.last_used_at is None


class TestObject:
    """A call names the one object that it made, changed or read, if there is one."""

    def named(self):
        return [(call.object_kind, call.object_id, call.reference) for call in logged()]

    def test_is_what_a_call_makes(self, api):
        made = [
            api.post("/api/payments", orders.card_payment(reference="order-1")).json(),
            api.post("/api/payments", orders.card_check(reference="check-1")).json(),
            api.post("/api/payments/order-1/refunds", {"reference": "refund-1"}).json(),
            api.post("/api/virtual-accounts", orders.dynamic_account(reference="account-1")).json(),
        ]

        assert self.named() == [
            (kind, UUID(one["id"]), one["reference"])
            for kind, one in zip(["payment", "card_check", "refund", "virtual_account"], made, strict=True)
        ]

    def test_is_what_a_call_reads(self, api):
        payment = api.post("/api/payments", orders.card_payment(reference="order-1")).json()["id"]
        refund = api.post("/api/payments/order-1/refunds", {"reference": "refund-1"}).json()["id"]
        logged()

        api.get("/api/payments/order-1")
        api.get("/api/payments/order-1/refunds")
        api.get("/api/refunds/refund-1")

        assert self.named()[2:] == [
            ("payment", UUID(payment), "order-1"),
            ("payment", UUID(payment), "order-1"),
            ("refund", UUID(refund), "refund-1"),
        ]

    def test_of_a_refused_refund_is_the_payment(self, api):
        payment = api.post("/api/payments", orders.card_payment(reference="order-1", amount=1000)).json()

        refused = api.post("/api/payments/order-1/refunds", {"reference": "refund-1", "amount": 1001})

        assert refused.status_code == 400
        assert self.named()[-1] == ("payment", UUID(payment["id"]), "order-1")

    @pytest.mark.parametrize(
        "target", ["/api/payments", "/api/banks", "/api/payments/unknown", "/api/refunds/x"]
    )
    def test_is_missing_if_a_call_names_none_that_exists(self, api, target):
        api.get(target)

        assert self.named() == [("", None, "")]

    def test_has_no_card_number_in_its_reference(self, api):
        api.post("/api/virtual-accounts", orders.dynamic_account(reference="5399831619690403"))

        (call,) = logged()
        assert call.reference == "539983******0403"


class TestFailedCalls:
    """Calls with a known key id and a wrong signature, which anyone can send."""

    @pytest.fixture(autouse=True)
    def within_a_minute(self):
        """Samples are counted per minute."""
        with freeze_time("2026-01-01T12:00:00Z"):
            yield

    @pytest.fixture
    def unknown_caller(self, ada):
        return InProcessClient(Credentials(ada.public_id, "sk_wrong"))

    def call_from(self, address, ada, target="/api/banks"):
        client = InProcessClient(Credentials(ada.public_id, "sk_wrong"), Client(REMOTE_ADDR=address))
        return client.get(target)

    def counts(self):
        return list(FailedCallCount.objects.order_by("key", "code").values_list("key", "code", "count"))

    def test_never_displace_authenticated_calls(self, api, ada, monkeypatch):
        monkeypatch.setattr(module, "CAPACITY", 5)
        for number in range(30):
            self.call_from(f"198.51.100.{number}", ada, "/api/banks")

        for _ in range(5):
            assert api.get("/api/banks").status_code == 200

        assert [call.status for call in logged()].count(200) == 5

    def test_are_sampled_by_network_and_all_counted(self, ada):
        for _ in range(25):
            assert self.call_from("198.51.100.7", ada, "/api/banks").status_code == 401

        assert len(logged()) == 10
        assert self.counts() == [(ada.public_id, "invalid_signature", 25)]

    def test_are_sampled_by_key(self, ada):
        for number in range(100):
            self.call_from(f"198.51.100.{number}", ada, "/api/banks")

        assert len(logged()) == 60
        assert [count for _, _, count in self.counts()] == [100]

    def test_are_sampled_again_in_the_next_minute(self, unknown_caller):
        for minute in (0, 1):
            with freeze_time(f"2026-01-01T12:0{minute}:00Z"):
                for _ in range(12):
                    unknown_caller.get("/api/banks")

        assert len(logged()) == 20

    def test_from_an_ipv6_network_count_together(self, ada):
        for number in range(1, 25):
            self.call_from(f"2001:db8::{number}", ada, "/api/banks")

        assert len(logged()) == 10

    def test_wait_in_a_bounded_queue(self, unknown_caller, monkeypatch):
        monkeypatch.setattr(module, "FAILURES_CAPACITY", 2)
        for _ in range(5):
            unknown_caller.get("/api/banks")

        assert len(logged()) == 2

    def test_do_not_lock_the_key_for_its_owner(self, api, unknown_caller):
        for _ in range(200):
            unknown_caller.get("/api/banks")

        assert api.get("/api/banks").status_code == 200

    def test_of_one_network_do_not_hide_those_of_another(self, ada):
        for _ in range(20):
            self.call_from("198.51.100.7", ada, "/api/banks")
        self.call_from("203.0.113.9", ada, "/api/payments")

        assert "/api/payments" in [call.target for call in logged()]

    def test_are_summed_over_flushes_and_reasons(self, unknown_caller, api, ada):
        for _ in range(2):
            unknown_caller.get("/api/banks")
            logged()
        api.get("/api/banks", **{"X-Timestamp": "1"})
        logged()

        assert self.counts() == [
            (ada.public_id, "invalid_signature", 2),
            (ada.public_id, "timestamp_out_of_range", 1),
        ]

    def test_are_counted_after_a_database_failure(self, unknown_caller, monkeypatch):
        unknown_caller.get("/api/banks")
        with failing_database(monkeypatch, "_add_counts"):
            request_log.flush()
        logged()

        assert [count for _, _, count in self.counts()] == [1]

    def test_are_not_counted_without_a_request_log(self, unknown_caller, settings):
        settings.REQUEST_LOG_DAYS = 0
        unknown_caller.get("/api/banks")

        assert logged() == []
        assert self.counts() == []


class TestBuffer:
    def test_is_bounded(self, api, monkeypatch):
        monkeypatch.setattr(module, "CAPACITY", 3)

        for _ in range(5):
            assert api.get("/api/banks").status_code == 200

        assert len(logged()) == 3

    def test_needs_no_statement(self, api, django_assert_num_queries):
        api.get("/api/banks")
        with django_assert_num_queries(1):  # the nonce
            api.get("/api/banks")

    def test_drops_calls_when_the_database_fails(self, api, monkeypatch):
        api.get("/api/banks")
        with failing_database(monkeypatch, "_write"):
            assert request_log.flush() == 0
        assert logged() == []


class TestRetention:
    def test_deletes_calls_past_their_retention_period(self, api, settings):
        for _ in range(3):
            api.get("/api/banks")
        old, *_ = logged()
        ApiRequest.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(days=31))
        rehearsed, done = StringIO(), StringIO()

        call_command("purge", dry_run=True, stdout=rehearsed)
        call_command("purge", stdout=done)

        assert "Would delete 1 logged request." in rehearsed.getvalue()
        assert "Deleted 1 logged request." in done.getvalue()
        assert ApiRequest.objects.count() == 2

    def test_stores_nothing_with_zero_days(self, api, settings):
        settings.REQUEST_LOG_DAYS = 0
        api.get("/api/banks")

        assert logged() == []


class TestReads:
    def test_that_succeed_are_left_out_in_production(self, api, settings):
        settings.REQUEST_LOG_READS = False
        api.get("/api/banks")
        api.get("/api/payments/unknown")
        api.post("/api/payments", {})

        assert [(call.method, call.status) for call in logged()] == [("GET", 404), ("POST", 400)]
        assert ApiKey.objects.get().last_used_at is not None
