"""Checkout.com is down, refuses our key or limits our calls: what merchants and payers get, and what follows afterwards."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kit.connectors.token_bucket import LONGEST_WAIT
from payments.models import CardOperation, RailBlock, RailSilence, Transaction
from payments.services.checkouts import checkouts
from payments.services.rails.requery import requery_due
from payments.tasks import look_at_watches
from tests.connectors.checkout.connecting import requery
from tests.links import make_link

PAYMENTS = "/api/payments"
HOUR = 60  # minutes
MOST_STATEMENTS = 4  # of a request that is refused: its key, its nonce, and whether it repeats an earlier one


@pytest.fixture
def go_down(pay, transport):
    """Return a function that stops Checkout.com, and sends payments until the breaker has opened."""

    def stop():
        transport.is_down = True
        found = [pay().json() for _ in range(3)]
        assert {payment["status"] for payment in found} == {"pending"}
        return found

    return stop


@pytest.fixture
def begun(api, pay, simulator, pass_time):
    """Return the references of three payments: a refund, a capture and the payment itself are undecided."""
    paid, authorised = pay().json()["reference"], pay(capture=False).json()["reference"]
    pass_time(5)
    simulator.plan.add("authorise: error_after 502")
    lost = pay().json()["reference"]
    api.post(f"{PAYMENTS}/{paid}/refunds", {"reference": "refund-1", "amount": 1_000})
    api.post(f"{PAYMENTS}/{authorised}/capture")
    return [paid, authorised, lost]


def let_pass(pass_time, *, seconds, times):
    """Let the scheduled queries of some time run."""
    for _ in range(times):
        pass_time(seconds)
        for _ in requery_due():
            pass
        look_at_watches()


class TestDown:
    def test_new_requests_are_refused_without_a_call_and_not_stored(self, pay, go_down, transport):
        go_down()
        transport.sent.clear()

        answers = [pay() for _ in range(20)]

        assert {(each.status_code, each.json()["code"]) for each in answers} == {(503, "rail_unavailable")}
        assert (transport.sent, Transaction.objects.count()) == ([], 3)

    def test_new_requests_wait_for_nothing(self, pay, go_down, transport, monkeypatch):
        go_down()
        transport.sent.clear()
        transport.time.slept.clear()
        slept = []
        monkeypatch.setattr("time.sleep", slept.append)

        with CaptureQueriesContext(connection) as statements:
            assert pay().status_code == 503

        assert (transport.sent, transport.time.slept, slept) == ([], [], [])
        assert len(statements) <= MOST_STATEMENTS, [each["sql"] for each in statements]

    def test_one_harmless_call_a_second_passes(self, pay, go_down, transport, pass_time):
        go_down()
        transport.sent.clear()

        for _ in range(30):
            pass_time(0.1)
            assert pay().status_code == 503

        assert transport.calls() == ["GET payments"] * 3

    def test_payments_pass_a_second_after_it_is_back(self, pay, go_down, transport, pass_time):
        go_down()
        transport.is_down = False
        pass_time(1)

        assert pay().json()["status"] == "success"

    def test_page_of_a_link_offers_what_still_works(self, api, pay, go_down, transport, pass_time):
        link = make_link(api)
        before = checkouts.methods_of(link, None)
        go_down()
        while_down = checkouts.methods_of(link, None)
        transport.is_down = False
        pass_time(1)

        assert (before, while_down, checkouts.methods_of(link, None)) == (
            ["card", "virtual_account"],
            ["virtual_account"],
            before,
        )

    def test_capabilities_say_so(self, api, go_down):
        go_down()

        found = {each["flow"]: each["available"] for each in api.get("/api/capabilities").json()["data"]}
        assert (found["card_payment"], found["virtual_account_payment"]) == (False, True)

    def test_everything_open_is_resolved_within_five_minutes_after_an_hour(
        self, simulator, begun, go_down, transport, pass_time
    ):
        never_arrived = go_down()
        let_pass(pass_time, seconds=60, times=HOUR)
        assert Transaction.objects.unanswered().count() == 4
        assert CardOperation.objects.unanswered().count() == 2

        transport.is_down = False
        let_pass(pass_time, seconds=10, times=30)

        assert not Transaction.objects.unanswered().exists()
        assert not CardOperation.objects.unanswered().exists()
        assert not RailSilence.objects.exists()
        found = {each.reference: each.status for each in Transaction.objects.all()}
        assert [found[reference] for reference in begun] == ["success"] * 3
        assert {found[each["reference"]] for each in never_arrived} == {"failed"}
        assert len(simulator.account.payments) == 3
        call_command("check_ledger")

    def test_everything_open_is_queried_at_once_when_the_breaker_closes(
        self, begun, go_down, transport, pass_time
    ):
        go_down()
        let_pass(pass_time, seconds=60, times=HOUR)
        transport.is_down = False

        let_pass(pass_time, seconds=1, times=3)

        assert not Transaction.objects.unanswered().exists()
        assert not CardOperation.objects.unanswered().exists()


class TestRefusedAccount:
    @pytest.mark.parametrize("fault", ["error 401", "error 403", "error 422 business_not_found"])
    def test_first_payment_fails_and_the_next_are_refused(self, pay, simulator, transport, fault):
        simulator.plan.add(f"authorise: {fault}")
        first = pay().json()
        transport.sent.clear()

        second = pay()

        assert (first["status"], first["response_code"]) == ("failed", "20030")
        assert (second.status_code, second.json()["code"]) == (503, "rail_unavailable")
        assert (transport.sent, Transaction.objects.count()) == ([], 1)

    def test_new_key_ends_it(self, pay, simulator, transport, pass_time):
        simulator.plan.add("authorise: error 401", "list_payments: error 401")
        pay()
        pass_time(1)
        still_refused = pay().status_code
        pass_time(1)
        RailBlock.objects.update(probed_at=timezone.now() - timedelta(minutes=1))

        assert (still_refused, pay().json()["status"]) == (503, "success")

    def test_refused_capture_is_about_its_payment(self, api, pay, simulator):
        payment = pay(capture=False).json()
        simulator.plan.add("captures: error 403")
        api.post(f"{PAYMENTS}/{payment['reference']}/capture")

        assert pay().status_code == 201


class TestRateLimit:
    def test_declines_no_payment(self, pay, simulator, transport):
        simulator.limit_calls(5)

        answers, waited = [], []
        for _ in range(30):
            transport.time.slept.clear()
            answers.append(pay().json())
            waited.append(sum(transport.time.slept))

        assert [each["status"] for each in answers] == ["success"] * 30
        assert 0 < max(waited) <= LONGEST_WAIT + 0.01

    def test_leaves_a_query_pending_without_an_outage(self, api, pay, simulator, transport, pass_time):
        simulator.plan.add("authorise: error_after 502")
        payment = pay().json()
        simulator.plan.add(*["list_payments: error 429"] * 9)
        requery()
        stored = Transaction.objects.get()
        assert (stored.status, stored.queries_made) == ("pending", 0)
        assert stored.next_query_at - timezone.now() <= timedelta(seconds=5)
        assert not RailSilence.objects.exists()

        simulator.plan._faults.clear()
        let_pass(pass_time, seconds=5, times=1)

        assert api.get(f"{PAYMENTS}/{payment['reference']}").json()["status"] == "success"

    def test_slows_queries_while_payments_pass(self, pay, simulator, pass_time):
        simulator.plan.add(*["authorise: error_after 409"] * 40)
        assert {pay().json()["status"] for _ in range(40)} == {"pending"}
        simulator.limit_calls(5)

        for _ in range(10):
            pass_time(10)
            assert pay().json()["status"] == "success"
            for _ in requery_due():
                pass

        assert not Transaction.objects.unanswered().exists()
