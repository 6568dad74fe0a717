"""Card payments at Checkout.com through the whole service: signed requests in, rows, answers and their books out."""

import pytest
from django.core.management import call_command
from django.test import Client as HttpClient

from connectors.services import event_processing
from payments.models import CardOperation, Transaction, WatchedAuthorisation
from payments.services.transactions import accepted_operations
from payments.tasks import look_at_watches
from tests import orders
from tests.connectors import provider_webhooks
from tests.connectors.checkout.connecting import GOOD_CARD, books, requery

PAYMENTS = "/api/payments"
LOW_ON_FUNDS, LOST = "4544249167673670", "4941202060999329"


class TestPayment:
    def test_succeeds_and_is_charged_once(self, pay, simulator):
        answer = pay()

        simulator.clock.advance(2)
        stored = Transaction.objects.get()
        assert (answer.status_code, answer.json()["status"]) == (201, "success")
        assert answer.json()["gateway_code"] == "10000"
        assert stored.acquirer_reference in simulator.account.payments
        assert stored.account == f"checkout:{simulator.identity.channel}"
        assert books(simulator)["charged"] == stored.amount_captured == stored.amount

    @pytest.mark.parametrize(
        ("number", "code", "theirs", "advice"),
        [(LOW_ON_FUNDS, "20051", "20051", "retry"), (LOST, "20041", "30041", "do_not_retry")],
    )
    def test_declined_has_our_code_and_theirs(self, pay, number, code, theirs, advice):
        answer = pay(number).json()

        assert (answer["status"], answer["response_code"], answer["gateway_code"]) == ("failed", code, theirs)
        assert answer["gateway_recommendation"] == advice
        assert not answer.get("authorization_code")

    def test_lost_answer_stays_pending_until_it_is_looked_up(self, pay, api, simulator):
        simulator.plan.add("authorise: error_after 502")

        answer = pay().json()
        requery()

        assert answer["status"] == "pending"
        assert api.get(f"{PAYMENTS}/{answer['reference']}").json()["status"] == "success"
        assert len(simulator.account.payments) == 1

    def test_that_never_arrived_stays_pending(self, pay, api, simulator):
        simulator.plan.add("authorise: error 503")

        answer = pay().json()
        requery()

        assert api.get(f"{PAYMENTS}/{answer['reference']}").json()["status"] == "pending"

    @pytest.mark.parametrize(
        ("changes", "field"),
        [({"amount": 1_000_000_000}, "amount"), ({"currency": "USD"}, "currency")],
    )
    def test_that_can_never_be_taken_is_refused_and_not_stored(self, pay, transport, changes, field):
        answer = pay(**changes)

        assert (answer.status_code, answer.json()["code"]) == (400, "not_supported")
        assert [each["field"] for each in answer.json()["errors"]] == [field]
        assert (transport.sent, Transaction.objects.count()) == ([], 0)


@pytest.fixture
def waits(monkeypatch, simulator):
    """Wait for accepted captures and voids, as outside of tests. The simulator decides them at once."""
    simulator.account.delays.change({"operation": 0})
    monkeypatch.setattr(accepted_operations, "LONGEST_WAIT", 3.0)


class TestRefusedAccount:
    def test_fails_the_payment_that_meets_it_and_refuses_the_next_ones(self, pay, api, simulator, transport):
        simulator.plan.add("authorise: error 401")

        answer = pay().json()
        transport.time.sleep(2)  # the breaker's probe succeeds, which only reads
        refused = pay()

        assert (answer["status"], answer["response_code"]) == ("failed", "20030")
        assert (answer.get("gateway_code"), answer["gateway_recommendation"]) == (None, "retry")
        assert (refused.status_code, refused.json()["code"]) == (503, "rail_unavailable")
        assert Transaction.objects.count() == 1
        capable = api.get("/api/capabilities").json()["data"]
        assert {each["available"] for each in capable if each["flow"].startswith("card")} == {False}


class TestOperations:
    @pytest.mark.parametrize(("path", "status"), [("capture", "success"), ("void", "failed")])
    def test_capture_and_void_are_answered_when_they_are_decided_soon(self, pay, api, waits, path, status):
        payment = pay(capture=False).json()

        answer = api.post(f"{PAYMENTS}/{payment['reference']}/{path}")

        assert (answer.status_code, answer.json()["status"]) == (200, status)

    def test_declined_capture_leaves_the_authorisation_and_has_their_code(self, pay, api, simulator, waits):
        simulator.account.decisions["Capture"].append("20051")
        payment = pay(capture=False).json()

        answer = api.post(f"{PAYMENTS}/{payment['reference']}/capture").json()

        assert answer["status"] == "pending"
        assert answer["last_operation"] == {"kind": "capture", "status": "failed", "gateway_code": "20051"}

    @pytest.mark.parametrize(("path", "status"), [("capture", "success"), ("void", "failed")])
    def test_capture_and_void_end_when_they_are_decided(self, pay, api, simulator, path, status):
        payment = pay(capture=False).json()
        api.post(f"{PAYMENTS}/{payment['reference']}/{path}")

        simulator.clock.advance(2)
        requery()

        stored = CardOperation.objects.get()
        assert api.get(f"{PAYMENTS}/{payment['reference']}").json()["status"] == status
        assert (stored.status, stored.acquirer_reference[:4]) == ("success", "act_")
        assert books(simulator)["reserved"] == 0

    def test_voided_authorisation_shows_no_mark_of_its_approval(self, pay, api, simulator):
        payment = pay(capture=False).json()
        api.post(f"{PAYMENTS}/{payment['reference']}/void")
        simulator.clock.advance(2)
        requery()

        voided = api.get(f"{PAYMENTS}/{payment['reference']}").json()

        assert (voided["status"], voided["response_code"]) == ("failed", "20090")
        assert not {"gateway_code", "authorization_code"} & voided.keys()

    def test_refund_is_pending_until_it_is_decided(self, pay, api, simulator):
        payment = pay().json()
        simulator.clock.advance(2)

        refund = api.post(
            f"{PAYMENTS}/{payment['reference']}/refunds", {"reference": "refund-1", "amount": 1_000}
        )
        simulator.clock.advance(2)
        requery()

        assert (refund.status_code, refund.json()["status"]) == (201, "pending")
        assert Transaction.objects.get().amount_refunded == 1_000
        assert books(simulator)["refunded"] == 1_000


class TestWatch:
    @pytest.mark.parametrize("capture", [True, False])
    def test_payment_that_appears_after_it_failed_is_taken_back(
        self, pay, api, simulator, pass_time, capture
    ):
        simulator.account.delays.change({"index": 3600})
        simulator.plan.add("authorise: error_after 502")
        payment = pay(capture=capture).json()
        pass_time(30 * 60)
        requery()
        failed = api.get(f"{PAYMENTS}/{payment['reference']}").json()
        assert (failed["status"], failed["response_code"]) == ("failed", "20030")
        assert "gateway_code" not in failed

        for _ in range(4):
            pass_time(30 * 60)
            look_at_watches()

        theirs = books(simulator)
        assert theirs["reserved"] == theirs["charged"] - theirs["refunded"] == 0
        assert theirs["refunded" if capture else "voided"] == payment["amount"]
        assert WatchedAuthorisation.objects.earliest("pk").returned_at
        call_command("check_ledger")

    def test_charge_that_a_webhook_announces_is_taken_back_at_once(self, pay, settings, simulator, pass_time):
        settings.CHECKOUT_WEBHOOK_KEYS = [provider_webhooks.CHECKOUT_KEY]
        simulator.account.delays.change({"index": 3 * 24 * 3600})
        simulator.plan.add("authorise: error_after 502")
        pay()
        for hours in (0.5, 30, 41):
            pass_time(hours * 3600)
            requery()
            look_at_watches()
        pass_time(31 * 60)  # half an hour before the next look
        payment = Transaction.objects.get()
        assert payment.status == "failed"

        provider_webhooks.send(
            HttpClient(), provider_webhooks.CHECKOUT, provider_webhooks.about(payment, "payment_captured")
        )
        for seconds in (0, 2, 5):
            pass_time(seconds)
            event_processing.process_due()
            look_at_watches()

        simulator.clock.advance(2)
        theirs = books(simulator)
        assert theirs["refunded"] == theirs["charged"] == payment.amount

    def test_refund_of_what_was_never_captured_fails(self, pay, api, simulator, pass_time):
        simulator.account.decisions["Capture"].append("20005")
        payment = pay().json()
        pass_time(10)
        simulator.tick()

        refund = api.post(f"{PAYMENTS}/{payment['reference']}/refunds", {"reference": "refund-1"})
        assert refund.json()["status"] == "pending"
        for _ in range(2):
            pass_time(3600)
            requery()

        assert CardOperation.objects.get().status == "failed"
        assert Transaction.objects.get().amount_being_refunded == 0


class TestCheck:
    def test_card_is_verified(self, api, transport):
        source = orders.card_source(type="CARD", pan=GOOD_CARD, cvv="100")

        answer = api.post(PAYMENTS, orders.card_check(source=source))

        assert (answer.status_code, answer.json()["status"]) == (201, "success")
        assert transport.sent[0][2]["amount"] == 0
