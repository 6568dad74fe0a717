"""Disputes at Checkout.com through the whole service: signed webhooks and requests in, rows and their books out."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from connectors.checkout.disputes import CheckoutDisputes
from connectors.models import ProviderEvent
from disputes.models import AnswerSending, CaseQuery, Dispute, DisputeReport
from disputes.services.rails import cases
from kit.time.timestamps import whole_millisecond
from payments.models import Transaction
from tests.connectors.checkout import published
from tests.connectors.checkout.desk import Desk
from tests.disputed import add_file
from tests.uploads import PNG

pytestmark = pytest.mark.django_db

AMOUNT = 50_000
ASKED_AT_MOST = 10  # calls that are made in place of one, if each is refused by the rate limit


@pytest.fixture
def desk(simulator, inbox, settings, transport):
    settings.CHECKOUT_WEBHOOK_KEYS = ["webhook-key"]
    yield Desk(simulator, inbox)
    assert desk_complaints(transport) == []
    call_command("check_ledger")


def desk_complaints(transport):
    """Return what of our requests isn't valid by the published document."""
    if not published.DOCUMENT.is_file():
        return []
    schema = published.request_schema("PUT", "/disputes/{dispute_id}/evidence")
    return [
        complaint
        for method, path, document, _ in transport.sent
        if method == "PUT" and path.endswith("/evidence")
        for complaint in published.complaints(document, schema)
    ]


@pytest.fixture
def payment(pay, simulator):
    answer = pay(amount=AMOUNT)
    assert answer.status_code == 201, answer.content
    reference = answer.json()["reference"]
    simulator.clock.advance(2)
    simulator.tick()
    return Transaction.objects.get(reference=reference)


@pytest.fixture
def dispute(desk, payment):
    """Return the path of a dispute that awaits an answer."""
    desk.open(payment)
    desk.deliver()
    return f"/api/disputes/{Dispute.objects.get().pk}"


def state():
    return list(Dispute.objects.order_by("id").values_list("stage", "status"))


class TestCase:
    def test_is_taken_after_its_webhook(self, desk, payment):
        number = desk.open(payment)

        desk.deliver()

        dispute = Dispute.objects.get()
        assert (dispute.transaction_id, dispute.case_number) == (payment.pk, number)
        assert (dispute.status, dispute.reason, dispute.network_reason) == (
            "needs_response",
            "fraudulent",
            "10.4",
        )
        assert (dispute.amount, dispute.currency) == (AMOUNT, payment.currency)
        assert dispute.network_due_at == whole_millisecond(desk.case().due)
        assert dispute.respond_by == dispute.network_due_at - timedelta(hours=24)
        payment.refresh_from_db()
        assert payment.amount_disputed == AMOUNT

    def test_has_a_part_of_a_short_time_left_before_the_network_s_deadline(self, desk, payment, simulator):
        simulator.account.delays.change({"dispute_answer": 40 * 3600})
        desk.open(payment)

        desk.deliver()

        assert Dispute.objects.get().respond_by == whole_millisecond(desk.case().due) - timedelta(hours=10)

    def test_event_shows_what_it_led_to(self, desk, payment):
        desk.open(payment)

        desk.deliver()
        ProviderEvent.objects.update(next_attempt_at=timezone.now())
        desk.process()

        assert set(
            ProviderEvent.objects.exclude(kind__startswith="payment").values_list("result", "transaction")
        ) == {("queried", payment.pk)}

    def test_is_found_without_any_webhook(self, desk, payment):
        desk.open(payment)
        cases.query_due()

        desk.look_again()

        assert state() == [("chargeback", "needs_response")]

    def test_outcome_is_found_without_any_webhook(self, desk, payment, simulator):
        desk.open(payment)
        desk.deliver()
        simulator.disputes.decide(desk.case(), "canceled")

        desk.look_again()

        assert state() == [("chargeback", "withdrawn")]
        assert not CaseQuery.objects.exclude(case_number="").exclude(next_at=None).exists()

    @pytest.mark.parametrize(
        ("theirs", "ours"),
        [
            (["won"], [("chargeback", "won")]),
            (["lost"], [("chargeback", "lost")]),
            (["expired"], [("chargeback", "expired")]),
            (["won", "arbitration_under_review"], [("chargeback", "won"), ("arbitration", "under_review")]),
            (
                ["won", "arbitration_under_review", "arbitration_lost"],
                [("chargeback", "won"), ("arbitration", "lost")],
            ),
        ],
    )
    def test_ends_as_the_scheme_decides(self, desk, payment, simulator, theirs, ours):
        desk.open(payment)
        desk.deliver()

        for status in theirs:
            simulator.disputes.decide(desk.case(), status)
            desk.deliver()

        assert state() == ours

    def test_at_a_later_stage_first_has_that_stage_only(self, desk, payment, simulator):
        desk.open(payment)
        for status in ("won", "arbitration_under_review"):
            simulator.disputes.decide(desk.case(), status)

        desk.deliver()
        assert state() == [("arbitration", "under_review")]
        simulator.disputes.decide(desk.case(), "arbitration_lost")
        desk.deliver()

        assert state() == [("arbitration", "lost")]

    def test_repeated_and_reordered_webhooks_change_nothing(self, desk, payment, simulator, inbox):
        desk.open(payment)
        simulator.disputes.decide(desk.case(), "won")
        simulator.deliver()
        inbox.received = [*reversed(inbox.received), *inbox.received]

        desk.deliver()

        assert state() == [("chargeback", "won")]
        assert DisputeReport.objects.count() == 1

    def test_of_a_refunded_payment_is_withdrawn(self, desk, payment, simulator):
        found = simulator.account.payments[payment.acquirer_reference]
        found.refunded = found.captured
        desk.open(payment)

        desk.deliver()

        assert state() == [("chargeback", "withdrawn")]

    def test_of_another_system_is_left_alone(self, desk, payment, simulator):
        simulator.account.payments[payment.acquirer_reference].reference = "order-17"
        desk.open(payment)

        desk.deliver()

        assert (state(), DisputeReport.objects.count()) == ([], 0)

    def test_with_a_list_in_place_of_its_status_is_for_staff(self, desk, payment):
        desk.open(payment)
        desk.case().status = ["won"]

        desk.deliver()

        assert state() == []
        assert DisputeReport.objects.get().why == "unreadable"

    def test_over_more_than_was_captured_is_unmatched(self, desk, payment):
        desk.open(payment, amount=AMOUNT + 1)

        desk.deliver()

        assert state() == []
        assert DisputeReport.objects.get().why == "amount_too_large"

    def test_without_an_answer_is_queried_again(self, desk, payment, transport):
        desk.open(payment)
        transport.is_down = True
        desk.deliver()
        assert state() == []
        transport.is_down = False
        transport.time.sleep(60)

        desk.look_again()

        assert state() == [("chargeback", "needs_response")]


class TestAnswer:
    def test_evidence_is_sent_and_decided(self, api, desk, dispute, simulator):
        api.post(f"{dispute}/evidence", {"kind": "delivery", "text": "win"})
        assert api.post(f"{dispute}/submit", {}).status_code == 200

        desk.send()
        simulator.clock.advance(120)
        desk.deliver()

        case = desk.case()
        assert case.evidence["proof_of_delivery_or_service_text"] == "win"
        document = simulator.account.uploads[case.evidence["additional_evidence_file"]].content
        assert document.startswith(b"%PDF-")
        assert b"win" in document
        assert sending() == ("delivered", None)
        assert state() == [("chargeback", "won")]

    def test_files_are_sent_in_the_parts_of_their_kinds(self, api, desk, dispute, simulator):
        add_file(api, dispute, kind="receipt")
        add_file(api, dispute, kind="receipt")
        api.post(f"{dispute}/submit", {})

        desk.send()

        placed = {name for name in desk.case().evidence if name.endswith("_file")}
        assert placed == {
            "additional_evidence_file",
            "invoice_or_receipt_file",
            "customer_communication_file",
        }
        file = simulator.account.uploads[desk.case().evidence["invoice_or_receipt_file"]]
        assert (file.filename, file.content) == ("evidence.png", PNG)

    def test_takes_as_many_files_as_it_has_parts(self, api, dispute):
        for _ in range(7):
            assert add_file(api, dispute).status_code == 201

        refused = add_file(api, dispute)

        assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")

    def test_long_text_is_cut_and_whole_in_the_document(self, api, desk, dispute, simulator):
        text = "Delivered on time. " * 100
        api.post(f"{dispute}/evidence", {"kind": "service", "text": text})
        api.post(f"{dispute}/submit", {})

        desk.send()

        sent = desk.case().evidence
        assert len(sent["proof_of_delivery_or_service_date_text"]) == 500
        document = simulator.account.uploads[sent["additional_evidence_file"]].content
        assert document.count(b"time.") == 100

    def test_acceptance_is_sent(self, api, desk, dispute):
        assert api.post(f"{dispute}/accept", {}).json()["status"] == "accepted"

        desk.send()
        desk.deliver()

        assert desk.case().status == "accepted"
        assert sending() == ("delivered", None)
        assert state() == [("chargeback", "accepted")]
        assert DisputeReport.objects.exclude(why="").count() == 0

    def test_part_cannot_be_accepted(self, api, dispute):
        refused = api.post(f"{dispute}/accept", {"amount": 1_000})

        assert (refused.status_code, refused.json()["code"]) == (400, "not_supported")
        assert state() == [("chargeback", "needs_response")]

    def test_whose_confirmation_is_lost_is_sent_once(self, api, desk, dispute, transport, simulator):
        api.post(f"{dispute}/submit", {})
        simulator.plan.add("submit_evidence: error_after 502")

        desk.send()
        assert sending() == ("", "AnswerLost")
        desk.send()

        assert sending() == ("delivered", None)
        assert submissions(transport) == 1

    def test_acceptance_whose_confirmation_is_lost_is_sent_once(
        self, api, desk, dispute, transport, simulator
    ):
        api.post(f"{dispute}/accept", {})
        simulator.plan.add("accept_dispute: error_after 502")

        desk.send()
        assert sending() == ("", "AnswerLost")
        desk.send()

        assert sending() == ("delivered", None)
        assert sum(path.endswith("/accept") for _, path, *_ in transport.sent) == 1

    def test_that_the_rate_limit_stops_is_sent_later(self, api, desk, dispute, simulator):
        """Such a call has no effect, so that the next one needn't wait until it has settled."""
        api.post(f"{dispute}/submit", {})
        for _ in range(ASKED_AT_MOST):
            simulator.plan.add("submit_evidence: error 429")

        desk.send()
        assert ("too_many_requests" in sending()[1], AnswerSending.objects.get().sent_at) == (True, None)
        simulator.plan._faults.clear()
        desk.send()

        assert sending() == ("delivered", None)

    def test_that_never_arrived_is_sent_again_after_a_time(self, api, desk, dispute, transport, simulator):
        api.post(f"{dispute}/submit", {})
        simulator.plan.add("submit_evidence: error 503")

        desk.send()
        desk.send()
        assert submissions(transport) == 1
        desk.let_settle()

        assert (submissions(transport), sending()) == (2, ("delivered", None))
        assert desk.case().status == "evidence_under_review"

    def test_that_is_refused_is_tried_again(self, api, desk, dispute, simulator):
        api.post(f"{dispute}/submit", {})
        simulator.plan.add("put_evidence: error 422 evidence_unreadable")

        desk.send()
        assert "evidence_unreadable" in sending()[1]
        desk.send()

        assert sending() == ("delivered", None)

    def test_that_comes_too_late_loses_and_alarms(self, api, desk, dispute, simulator, caplog):
        api.post(f"{dispute}/submit", {})
        simulator.disputes.decide(desk.case(), "expired")

        desk.send()

        assert sending() == ("not_sent", None)
        assert state() == [("chargeback", "lost")]
        assert "answer to a dispute came too late" in caplog.text

    def test_that_was_refused_and_expired_was_not_sent(self, api, desk, dispute, simulator, caplog):
        api.post(f"{dispute}/submit", {})
        simulator.plan.add("submit_evidence: error 422 evidence_unreadable")

        desk.send()
        assert "evidence_unreadable" in sending()[1]
        simulator.disputes.decide(desk.case(), "expired")
        desk.send()

        assert sending() == ("not_sent", None)
        assert "answer to a dispute came too late" in caplog.text

    def test_that_was_refused_and_lost_was_not_sent(self, api, desk, dispute, simulator):
        api.post(f"{dispute}/submit", {})
        simulator.plan.add("submit_evidence: error 422 evidence_unreadable")

        desk.send()
        simulator.disputes.decide(desk.case(), "lost")
        desk.send()

        assert sending() == ("not_sent", None)

    def test_whose_confirmation_is_lost_and_that_is_refused_then_was_sent(
        self, api, desk, dispute, simulator, transport
    ):
        """The refusal says that the answer is there already."""
        api.post(f"{dispute}/submit", {})
        simulator.plan.add("submit_evidence: error 503")
        desk.send()
        simulator.plan.add("submit_evidence: error 422 evidence_unreadable")
        desk.let_settle()
        simulator.disputes.decide(desk.case(), "lost")
        desk.send()

        assert sending() == ("delivered", None)

    def test_that_is_not_sent_by_the_deadline_alarms(self, api, desk, dispute, transport, caplog):
        api.post(f"{dispute}/submit", {})
        Dispute.objects.update(respond_by=timezone.now())
        transport.is_down = True

        desk.send()

        assert "answer to a dispute not sent in time" in caplog.text
        assert sending()[0] == ""

    def test_worker_whose_lease_ended_does_not_submit(self, api, desk, dispute, transport, monkeypatch):
        api.post(f"{dispute}/submit", {})
        prepare = CheckoutDisputes.prepare

        def too_slow(rail, answer):
            prepare(rail, answer)
            AnswerSending.objects.update(next_at=timezone.now() + timedelta(hours=1))

        monkeypatch.setattr(CheckoutDisputes, "prepare", too_slow)
        desk.send()

        assert (submissions(transport), AnswerSending.objects.get().sent_at) == (0, None)


def sending():
    found = AnswerSending.objects.get()
    return found.result, found.last_error or None


def submissions(transport):
    return sum(
        method == "POST" and path.startswith("/disputes/") and path.endswith("/evidence")
        for method, path, *_ in transport.sent
    )
