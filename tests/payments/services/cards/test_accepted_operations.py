"""Captures, voids and refunds that their acquirer accepts first and decides later."""

import threading
from dataclasses import replace

import pytest

from ledger.models import Entry
from payments.models import CardOperation, Transaction
from payments.services.rails import requery
from payments.services.transactions import accepted_operations
from payments.tasks import expire_due, requery_due
from tests import orders
from tests.by_refund_acquirer import ACCEPTED, APPROVED, BY_REFUND, DECLINED, LOST, ByRefundAcquirer

pytestmark = pytest.mark.django_db

LONGEST_WAIT = accepted_operations.LONGEST_WAIT  # as it is outside of tests
DONE = replace(APPROVED, acquirer_reference="")


@pytest.fixture(autouse=True)
def acquirer(settings, monkeypatch):
    settings.CARD_ACQUIRER = BY_REFUND
    monkeypatch.setattr(accepted_operations, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(accepted_operations, "LONGEST_WAIT", LONGEST_WAIT)
    ByRefundAcquirer.begin()
    ByRefundAcquirer.answers("authorise", APPROVED)
    ByRefundAcquirer.answers("operate", ACCEPTED)
    return ByRefundAcquirer


@pytest.fixture
def _without_wait(monkeypatch):
    monkeypatch.setattr(accepted_operations, "LONGEST_WAIT", 0.0)


def authorised(api, **changes):
    return f"/api/payments/{api.post('/api/payments', orders.card_payment(capture=False, **changes)).json()['reference']}"


def captured(api):
    return f"/api/payments/{api.post('/api/payments', orders.card_payment()).json()['reference']}"


class TestACapture:
    def test_usually_answers_with_its_result(self, api, acquirer):
        address = authorised(api)
        acquirer.answers("query_operation", ACCEPTED, DONE)

        answer = api.post(f"{address}/capture", {"amount": 20_000})

        payment = answer.json()
        assert (answer.status_code, payment["status"], payment["total_amount_captured"]) == (
            200,
            "success",
            20_000,
        )
        assert acquirer.count("query_operation") == 2
        assert acquirer.calls[-1].operation.acquirer_reference == "act_1"

    def test_that_is_not_decided_in_time_answers_with_the_present_state(
        self, api, acquirer, clock, monkeypatch
    ):
        monkeypatch.setattr(accepted_operations, "LONGEST_WAIT", 0.05)
        address = authorised(api)
        acquirer.answers("query_operation", ACCEPTED)

        answer = api.post(f"{address}/capture")
        again = api.post(f"{address}/capture")

        assert (answer.status_code, answer.json()["status"]) == (200, "pending")
        assert "last_operation" not in answer.json()
        assert (again["Idempotent-Replayed"], again.json()) == ("true", answer.json())
        assert acquirer.count("operate") == 1
        acquirer.answers("query_operation", DONE)
        clock.advance(seconds=10)
        requery_due()
        assert api.get(address).json()["status"] == "success"

    @pytest.mark.usefixtures("_without_wait")
    def test_is_not_waited_for_longer_than_three_seconds(self, api, acquirer):
        answer = api.post(f"{authorised(api)}/capture")

        assert answer.json()["status"] == "pending"
        assert acquirer.count("query_operation") == 0

    def test_is_not_waited_for_while_its_process_waits_for_another(self, api, acquirer):
        address = authorised(api)
        assert accepted_operations._waiting.acquire(blocking=False)
        try:
            answer = api.post(f"{address}/capture")
        finally:
            accepted_operations._waiting.release()

        assert answer.json()["status"] == "pending"
        assert acquirer.count("query_operation") == 0

    def test_is_not_waited_for_beyond_a_slow_query(self, api, acquirer, monkeypatch):
        monkeypatch.setattr(accepted_operations, "LONGEST_WAIT", 0.05)
        may_answer = threading.Event()
        acquirer.answers("query_operation", lambda: may_answer.wait(60) and DONE)

        answer = api.post(f"{authorised(api)}/capture")
        may_answer.set()

        assert answer.json()["status"] == "pending"

    def test_whose_acceptance_was_lost_is_not_waited_for(self, api, acquirer):
        acquirer.answers("operate", LOST)

        answer = api.post(f"{authorised(api)}/capture")

        assert answer.json()["status"] == "pending"
        assert acquirer.count("query_operation") == 0

    def test_is_booked_once_if_requery_has_its_result_first(self, api, acquirer, monkeypatch):
        """The wait has no lease, so both may query at once."""
        address = authorised(api)
        acquirer.answers("query_operation", DONE)
        waited = accepted_operations.outcome_of

        def overtaken(operation, query):
            answer = waited(operation, query)
            assert [one.is_answered for one in requery.requery([operation])] == [True]
            return answer

        monkeypatch.setattr(accepted_operations, "outcome_of", overtaken)

        answer = api.post(f"{address}/capture")

        assert (answer.status_code, answer.json()["status"]) == (200, "success")
        assert Entry.objects.filter(kind="card").count() == 1
        assert acquirer.count("query_operation") == 2


class TestARefusal:
    @pytest.mark.parametrize("action", ["capture", "void"])
    @pytest.mark.parametrize("is_accepted_first", [True, False])
    def test_is_a_state_and_no_error(self, api, acquirer, action, is_accepted_first):
        address = authorised(api)
        acquirer.answers("operate", ACCEPTED if is_accepted_first else DECLINED)
        acquirer.answers("query_operation", DECLINED)

        answer = api.post(f"{address}/{action}")

        refused = {"kind": action, "status": "failed", "gateway_code": "05"}
        assert (answer.status_code, answer.json()["status"]) == (200, "pending")
        assert answer.json()["last_operation"] == refused
        assert api.get(address).json()["last_operation"] == refused
        assert [one["last_operation"] for one in api.get("/api/payments").json()["data"]] == [refused]

    @pytest.mark.usefixtures("_without_wait")
    def test_is_shown_however_late_it_comes(self, api, acquirer, clock):
        address = authorised(api)
        api.post(f"{address}/capture")
        acquirer.answers("query_operation", DECLINED)

        clock.advance(seconds=10)
        requery_due()

        assert api.get(address).json()["last_operation"]["status"] == "failed"

    def test_may_be_tried_again(self, api, acquirer):
        address = authorised(api)
        acquirer.answers("query_operation", DECLINED, DONE)
        api.post(f"{address}/capture")

        answer = api.post(f"{address}/capture")

        assert (answer.status_code, answer.json()["status"]) == (200, "success")
        assert "Idempotent-Replayed" not in answer
        assert "last_operation" not in answer.json()

    def test_by_an_acquirer_that_decides_at_once_stays_an_error(self, api, settings):
        settings.CARD_ACQUIRER = "sandbox"
        address = authorised(api)
        settings.CARD_ACQUIRER = "tests.rails.RefusingAcquirer"

        refusal = api.post(f"{address}/capture")

        assert (refusal.status_code, refusal.json()["code"]) == (409, "invalid_state")
        assert "last_operation" not in api.get(address).json()


class TestAVoid:
    def test_usually_answers_with_its_result(self, api, acquirer):
        acquirer.answers("query_operation", DONE)

        answer = api.post(f"{authorised(api)}/void")

        assert (answer.status_code, answer.json()["response_code"]) == (200, "20090")

    def test_of_an_expired_authorisation_is_queried_once_it_was_accepted(self, api, acquirer, clock):
        authorised(api)
        clock.advance(days=7)
        expire_due()
        requery_due()
        acquirer.answers("query_operation", DONE)
        clock.advance(seconds=30)
        requery_due()

        void = CardOperation.objects.get()
        assert (void.kind, void.status, void.acquirer_reference) == ("void", "success", "act_1")
        assert [call.name for call in acquirer.calls] == ["authorise", "operate", "query_operation"]


class TestARefund:
    def test_is_pending_until_it_is_decided(self, api, acquirer, clock):
        address = captured(api)
        acquirer.answers("query_operation", DONE)

        answer = api.post(f"{address}/refunds", {"reference": "rf", "amount": 20_000})

        assert (answer.status_code, answer.json()["status"]) == (201, "pending")
        assert acquirer.count("query_operation") == 0
        assert api.get(address).json()["total_amount_available_to_refund"] == 30_000
        clock.advance(seconds=10)
        requery_due()
        assert api.get("/api/refunds/rf").json()["status"] == "success"
        assert acquirer.calls[-1].operation.acquirer_reference == "act_1"
        assert Transaction.objects.get().refund_status == "partially_refunded"

    def test_that_is_refused_later_gives_the_amount_back(self, api, acquirer, clock):
        address = captured(api)
        acquirer.answers("query_operation", DECLINED)
        api.post(f"{address}/refunds", {"reference": "rf", "amount": 20_000})

        clock.advance(seconds=10)
        requery_due()

        assert api.get("/api/refunds/rf").json()["status"] == "failed"
        assert api.get(address).json()["total_amount_available_to_refund"] == 50_000
