"""Reports of acquirers about cases: in any order, twice, with gaps, and of unknown payments."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from disputes.models import Dispute, DisputeReport, DisputeStep
from ledger.invariants import check
from ledger.models import Account
from ledger.services import Kind
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, Transaction
from payments.rules.words.dispute_words import Reason, Stage, Status
from payments.services.journals.drafts import Leg
from tests import orders
from tests.disputed import (
    AMOUNT,
    declare_moved,
    disputed,
    every_event_of_disputes,
    payment_of,
    take,
)
from tests.journals import adjusted
from tests.refunds import ask_for_refund, refund
from tests.settling import decide, settle, today
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

FEE = 2_500


@pytest.fixture(autouse=True)
def _books_are_right(db):
    yield
    assert [(each.invariant.name, each.broken) for each in check(INVARIANTS) if not each.holds] == []


def balances(payment):
    accounts = Account.objects.filter(business=payment.business, currency="NGN").exclude(balance=0)
    return dict(accounts.values_list("kind", "balance"))


def statuses(payment):
    return list(Dispute.objects.filter(transaction=payment).order_by("id").values_list("stage", "status"))


class TestMoney:
    def test_holds_the_amount_and_charges_the_fee(self, api, settings):
        settings.DISPUTE_FEES = {"NGN": FEE}
        payment = payment_of(api)
        before = balances(payment)
        assert not any("disputed" in one for one in api.get("/api/balance").json()["data"])

        dispute = disputed(payment)

        assert dispute.fee == FEE
        after = balances(payment)
        assert after["disputes_held"] == AMOUNT
        assert after["pending_settlement"] == before["pending_settlement"] - AMOUNT - FEE
        (balance,) = [one for one in api.get("/api/balance").json()["data"] if one["currency"] == "NGN"]
        assert (balance["disputed"], balance["pending"]) == (AMOUNT, after["pending_settlement"])

    @pytest.mark.parametrize(
        ("status", "lost", "fee"), [("won", 0, 0), ("withdrawn", 0, 0), ("lost", AMOUNT, FEE)]
    )
    def test_gives_back_or_loses_the_amount(self, api, settings, status, lost, fee):
        settings.DISPUTE_FEES = {"NGN": FEE}
        payment = payment_of(api)
        before = balances(payment)
        disputed(payment)

        take(payment, status=Status(status))

        assert statuses(payment) == [("chargeback", status)]
        after = balances(payment)
        assert "disputes_held" not in after
        assert after["pending_settlement"] == before["pending_settlement"] - lost - fee
        assert after.get("refunds_payable", 0) == lost
        payment.refresh_from_db()
        assert payment.amount_disputed == lost

    def test_moves_no_money_for_an_inquiry(self, api, settings):
        settings.DISPUTE_FEES = {"NGN": FEE}
        payment = payment_of(api)
        before = balances(payment)

        dispute = disputed(payment, stage=Stage.INQUIRY)

        assert (balances(payment), dispute.fee) == (before, 0)
        shown = api.get(f"/api/payments/{payment.reference}").json()
        assert "amount_disputed" not in shown
        assert shown["disputes"] == [
            {"id": str(dispute.pk), "stage": "inquiry", "status": "needs_response", "amount": AMOUNT}
        ]
        refund(api, payment.reference)

    def test_gives_back_a_part_that_was_won(self, api):
        payment = payment_of(api)
        disputed(payment)

        take(payment, status=Status.WON, outcome_amount=30_000)

        assert balances(payment)["refunds_payable"] == 20_000
        assert ask_for_refund(api, f"/api/payments/{payment.reference}").json()["amount"] == 30_000


class TestRefunds:
    def test_of_disputed_money_are_refused(self, api):
        payment = payment_of(api)
        disputed(payment, amount=30_000)
        address = f"/api/payments/{payment.reference}"

        for wanted in ({"amount": 20_001}, {"amount": 50_000}):
            answer = ask_for_refund(api, address, **wanted)
            assert (answer.status_code, answer.json()["code"]) == (409, "payment_disputed")
        assert ask_for_refund(api, address, amount=50_001).json()["code"] == "amount_too_large"
        assert ask_for_refund(api, address).json()["amount"] == 20_000
        assert ask_for_refund(api, address).json()["code"] == "payment_disputed"

    def test_before_a_dispute_are_put_in_as_evidence(self, api):
        payment = payment_of(api)
        refund(api, payment.reference, reference="rf-before")

        dispute = disputed(payment)

        assert dispute.already_refunded
        text = dispute.evidence.get().text
        assert text.startswith("Refund rf-before of NGN 500.00 on ")
        assert text.endswith(": Refund completed.")
        assert api.get(f"/api/payments/{payment.reference}").json()["total_amount_available_to_refund"] == 0

    def test_have_the_day_of_the_business_in_the_evidence(self, api):
        payment = payment_of(api)
        refund(api, payment.reference)
        CardOperation.objects.update(created_at=datetime(2026, 2, 3, 23, 30, tzinfo=UTC))

        assert " on 2026-02-04: " in disputed(payment).evidence.get().text  # in Lagos

    def test_are_marked_if_another_dispute_leaves_less(self, api):
        payment = payment_of(api)
        first = disputed(payment)

        second = disputed(payment, case_number="CB-2", amount=1)

        assert (first.already_refunded, second.already_refunded) == (False, True)
        shown = api.get(f"/api/payments/{payment.reference}").json()
        assert shown["amount_disputed"] == balances(payment)["disputes_held"] == AMOUNT + 1
        assert shown["total_amount_available_to_refund"] == 0


class TestOrder:
    def test_of_news_never_takes_a_status_back(self, api):
        payment = payment_of(api)
        disputed(payment)
        take(payment, status=Status.WON)
        take(payment, status=Status.UNDER_REVIEW)
        take(payment, status=Status.WITHDRAWN)

        assert statuses(payment) == [("chargeback", "won")]
        assert DisputeReport.objects.filter(why="").count() == 4

    def test_opens_and_closes_what_arrives_final(self, api):
        payment = payment_of(api)
        make_endpoint(business=payment.business, events=["dispute"])

        disputed(payment, status=Status.LOST)

        assert statuses(payment) == [("chargeback", "lost")]
        events = Delivery.objects.order_by("created_at", "event").values_list("event", flat=True)
        assert sorted(events) == ["dispute.closed", "dispute.opened"]

    def test_ends_the_open_stage_before_a_later_one(self, api):
        payment = payment_of(api)
        first = disputed(payment)
        second = disputed(payment, stage=Stage.PRE_ARBITRATION)
        take(payment, status=Status.LOST)  # late news of the stage that is over

        assert second.previous == first
        assert statuses(payment)[1] == ("pre_arbitration", "needs_response")
        assert balances(payment)["disputes_held"] == AMOUNT

    def test_ends_an_inquiry_before_a_chargeback(self, api):
        payment = payment_of(api)
        inquiry = disputed(payment, stage=Stage.INQUIRY)

        assert disputed(payment).previous == inquiry

        assert statuses(payment) == [("inquiry", "won"), ("chargeback", "needs_response")]

    def test_ignores_a_stage_that_is_told_too_late(self, api):
        payment = payment_of(api)
        later = disputed(payment, stage=Stage.ARBITRATION)

        assert take(payment).dispute == later
        assert statuses(payment) == [("arbitration", "needs_response")]

    @pytest.mark.parametrize("status", [Status.ACCEPTED, Status.EXPIRED])
    def test_takes_an_answered_dispute_that_is_conceded_elsewhere_as_lost(self, api, status):
        payment = payment_of(api)
        take(payment, status=Status.UNDER_REVIEW)

        take(payment, status=status)

        assert statuses(payment) == [("chargeback", "lost")]

    def test_changes_a_deadline(self, api):
        payment = payment_of(api)
        disputed(payment)
        until = timezone.now() + timedelta(days=1)

        take(payment, respond_by=until)

        dispute = Dispute.objects.get()
        assert dispute.respond_by == until
        assert list(dispute.steps.order_by("id").values_list("kind", flat=True)) == ["opened", "changed"]

    def test_keeps_the_network_s_deadline(self, api):
        payment, day = payment_of(api), timedelta(days=1)
        first, later = (timezone.now() + days * day for days in (5, 9))
        disputed(payment, respond_by=first - day, network_due_at=first)

        take(payment, respond_by=later - day, network_due_at=later)

        dispute = Dispute.objects.get()
        assert (dispute.respond_by, dispute.network_due_at) == (later - day, later)

    def test_takes_a_report_from_before_the_network_s_deadline_was_kept_once(self, api):
        payment, until = payment_of(api), timezone.now() + timedelta(days=5)
        report = take(payment, respond_by=until)

        assert take(payment, respond_by=until, network_due_at=until + timedelta(days=1)) == report
        assert Dispute.objects.get().network_due_at == until + timedelta(days=1)

    def test_takes_another_deadline_of_the_network_alone(self, api):
        payment, day = payment_of(api), timedelta(days=1)
        until = timezone.now() + 5 * day
        first = take(payment, respond_by=until, network_due_at=until + day)

        second = take(payment, respond_by=until, network_due_at=until + 3 * day)
        assert take(payment, respond_by=until, network_due_at=until + day) == first  # a replay
        assert take(payment, respond_by=until, network_due_at=until + 3 * day) == second != first

        assert Dispute.objects.get().network_due_at == until + 3 * day


class TestUnmatched:
    def test_is_what_fits_no_payment(self, api):
        payment = payment_of(api)

        assert take(payment, rrn="999999999999").why == "no_payment"
        assert take(payment, amount=AMOUNT + 1).why == "amount_too_large"
        disputed(payment)
        assert take(payment, amount=AMOUNT - 1).why == "other_amount"
        assert Dispute.objects.count() == 1

    def test_is_matched_by_the_acquirers_identifier(self, api):
        payment = payment_of(api)
        assert take(payment, rrn="", acquirer_reference=payment.acquirer_transaction_id).dispute is not None

    def test_is_matched_by_the_acquirers_identifier_if_the_rrn_is_of_a_smaller_payment(self, api):
        smaller, payment = payment_of(api, amount=AMOUNT - 1), payment_of(api)
        numbers = {
            "rrn": smaller.retrieval_reference_number,
            "acquirer_reference": payment.acquirer_transaction_id,
        }

        assert take(payment, **numbers).dispute.transaction == payment

    def test_is_what_fits_several_payments(self, api):
        payments = [payment_of(api), payment_of(api)]
        Transaction.objects.filter(pk__in=[each.pk for each in payments]).update(
            acquirer_transaction_id="A-1"
        )

        report = take(payments[0], rrn="", acquirer_reference="A-1")

        assert (report.why, report.dispute) == ("several_payments", None)
        # The RRN comes first, and says which.
        assert take(payments[1], acquirer_reference="A-1").dispute.transaction == payments[1]

    def test_is_never_a_row_of_a_known_case(self, api):
        """It joins its payment, whatever else the row says of it."""
        payment, other = payment_of(api), payment_of(api)
        dispute = disputed(payment)

        report = take(payment, rrn=other.retrieval_reference_number, status=Status.UNDER_REVIEW)

        assert report.dispute == dispute
        assert statuses(payment) == [("chargeback", "under_review")]

    def test_is_tried_again(self, api):
        payment = payment_of(api)
        rrn, moment = payment.retrieval_reference_number, timezone.now() + timedelta(days=3)
        Transaction.objects.filter(pk=payment.pk).update(retrieval_reference_number="000000000000")
        assert take(payment, respond_by=moment, network_due_at=moment).why == "no_payment"

        Transaction.objects.filter(pk=payment.pk).update(retrieval_reference_number=rrn)

        assert take(payment, respond_by=moment, network_due_at=moment).dispute is not None
        assert DisputeReport.objects.get().why == ""
        assert Dispute.objects.get().network_due_at == moment

    def test_is_what_contradicts_an_end(self, api):
        payment = payment_of(api)
        disputed(payment)
        take(payment, status=Status.LOST)

        report = take(payment, status=Status.WON)
        again = take(payment, status=Status.WON, network_reason="10.4")

        assert (report.why, report.amount_in_suspense) == ("contradiction", AMOUNT)
        assert (again.why, again.amount_in_suspense) == ("contradiction", 0)
        assert statuses(payment) == [("chargeback", "lost")]

    @pytest.mark.parametrize(
        ("ended", "later", "suspended"),
        [
            ({"status": Status.WON}, {"status": Status.WON, "outcome_amount": 30_000}, 0),
            (
                {"status": Status.WON, "outcome_amount": 20_000},
                {"status": Status.WON, "outcome_amount": 30_000},
                10_000,
            ),
            ({"status": Status.LOST}, {"status": Status.ACCEPTED, "outcome_amount": 30_000}, 30_000),
            ({"status": Status.ACCEPTED, "outcome_amount": 30_000}, {"status": Status.EXPIRED}, 0),
            ({"status": Status.ACCEPTED, "outcome_amount": 30_000}, {"status": Status.WON}, 20_000),
        ],
    )
    def test_is_what_ends_with_another_amount(self, api, ended, later, suspended):
        payment = payment_of(api)
        disputed(payment)
        take(payment, **ended)

        report = take(payment, **later)

        assert (report.why, report.amount_in_suspense) == ("contradiction", suspended)
        assert statuses(payment) == [("chargeback", ended["status"])]

    def test_is_no_end_with_the_same_amount_or_none(self, api):
        payment = payment_of(api)
        disputed(payment)
        take(payment, status=Status.ACCEPTED, outcome_amount=30_000)

        assert take(payment, status=Status.ACCEPTED).why == ""
        assert take(payment, status=Status.LOST, outcome_amount=30_000).why == ""

    def test_becomes_a_contradiction_if_its_case_was_matched_and_ended_meanwhile(self, api):
        payment, moment = payment_of(api), timezone.now() + timedelta(days=3)
        unknown = {"rrn": "9" * 12, "status": Status.WON, "respond_by": moment}
        assert take(payment, **unknown).why == "no_payment"
        disputed(payment)
        take(payment, status=Status.EXPIRED)

        report = take(payment, **unknown)

        assert (report.why, report.amount_in_suspense) == ("contradiction", AMOUNT)
        assert report.dispute == Dispute.objects.get()
        assert take(payment, **unknown) == report
        assert DisputeReport.objects.unmatched().count() == 1


class TestDeclaredAccount:
    """The acquirer moved to another address, and two people declared that it is the same account."""

    @pytest.fixture
    def payment(self, api):
        payment = payment_of(api)
        declare_moved(payment)
        return payment

    def test_has_the_payments_from_before(self, payment):
        assert disputed(payment, account="moved").transaction == payment

    def test_goes_on_with_its_cases(self, payment):
        dispute = disputed(payment)

        assert take(payment, account="moved", status=Status.LOST).dispute == dispute
        assert statuses(payment) == [("chargeback", "lost")]

    def test_has_further_stages_of_its_cases(self, payment):
        dispute = disputed(payment)

        assert disputed(payment, account="moved", stage=Stage.PRE_ARBITRATION).previous == dispute
        assert statuses(payment) == [("chargeback", "won"), ("pre_arbitration", "needs_response")]

    def test_is_no_other_account(self, payment):
        assert take(payment, account="other").why == "no_payment"


class TestSettlement:
    def test_nets_disputes(self, api, settings):
        settings.DISPUTE_FEES = {"NGN": FEE}
        kept, payment = payment_of(api, amount=100_000), payment_of(api)
        disputed(payment)

        (batch,) = settle()

        shown = api.get(f"/api/settlements/{batch.pk}").json()
        fees = kept.fee + payment.fee + FEE
        assert (shown["gross"], shown["disputes"], shown["fees"]) == (150_000, AMOUNT, fees)
        assert shown["net"] == 100_000 - fees == sum(item["net"] for item in shown["items"]["data"])
        (item,) = [item for item in shown["items"]["data"] if item["kind"] == "dispute"]
        assert (item["amount"], item["fee"], item["net"]) == (-AMOUNT, FEE, -AMOUNT - FEE)

    def test_nets_what_comes_after_a_rejected_or_released_batch(self, api):
        payment = payment_of(api)
        disputed(payment)
        (rejected,) = settle()
        decide(rejected, "reject")
        take(payment, status=Status.LOST)
        (released,) = settle()
        assert released.disputes == AMOUNT
        decide(released, "approve", "release")
        disputed(payment_of(api), stage=Stage.PRE_ARBITRATION, reason=Reason.DUPLICATE)
        (owing,) = settle()

        assert owing.net == 0
        assert owing.disputes == AMOUNT
        assert DisputeStep.objects.filter(kind="opened").count() == 2

    def test_pays_what_was_given_back_without_a_next_payment(self, api, settings):
        """The business has stopped selling when its dispute is won, so that no batch of payments nets it."""
        settings.DISPUTE_FEES = {"NGN": FEE}
        payment = payment_of(api)
        disputed(payment)
        (owing,) = settle()
        decide(owing, "approve", "release")
        assert (owing.net, owing.carried_forward) == (0, payment.fee + FEE)
        assert settle() == []

        take(payment, status=Status.WON)
        assert settle(today() - timedelta(days=1)) == []
        (rejected,) = settle()
        decide(rejected, "reject")
        (batch,) = settle()

        assert settle() == []
        assert (batch.state, batch.day, batch.payments_count, batch.gross) == ("pending", today(), 0, 0)
        assert (batch.disputes, batch.fees, batch.net) == (-AMOUNT, -FEE, AMOUNT - payment.fee)
        decide(batch, "approve", "release")
        after = balances(payment)
        assert (after["wallet"], after.get("pending_settlement", 0)) == (AMOUNT - payment.fee, 0)
        lines = api.get(f"/api/settlements/{batch.pk}").json()["items"]["data"]
        assert [(one["kind"], one["net"]) for one in lines] == [
            ("dispute", AMOUNT + FEE),
            ("brought_forward", -payment.fee - FEE),
        ]

    def test_pays_what_was_given_back_where_money_must_arrive(self, api, settings):
        payment = payment_of(api)
        disputed(payment)
        decide(*settle(), "approve", "release")
        take(payment, status=Status.WON)
        settings.RELEASE_REQUIRES_FUNDS = True

        (batch,) = settle()

        assert decide(batch, "approve", "release").state == "released"

    def test_waits_with_what_was_given_back_for_a_debt_that_is_larger(self, api):
        payment, other = payment_of(api), payment_of(api)
        (batch,) = settle()
        decide(batch, "approve", "release")
        disputed(payment, amount=20_000)
        refund(api, other.reference, amount=40_000)

        take(payment, amount=20_000, status=Status.WON)

        assert settle() == []
        refund(api, other.reference, amount=10_000)
        assert settle() == []

    def test_waits_with_what_was_given_back_for_a_debt_that_is_not_released(self, api):
        payment = payment_of(api)
        disputed(payment)
        (owing,) = settle()
        assert owing.carried_forward == payment.fee
        take(payment, status=Status.WON)

        assert settle() == []
        decide(owing, "approve")
        assert settle() == []
        decide(owing, "release")
        (batch,) = settle()

        assert (batch.brought_forward, batch.net) == (payment.fee, AMOUNT - payment.fee)

    def test_does_not_pay_again_what_staff_have_credited(self, api):
        payment = payment_of(api)
        disputed(payment)
        decide(*settle(), "approve", "release")
        take(payment, status=Status.WON)
        left = AMOUNT - payment.fee
        legs = (Leg(Kind.WALLET, "", left), Leg(Kind.PENDING_SETTLEMENT, "", -left))

        adjusted(payment.business, left, legs=legs)

        assert settle() == []

    def test_makes_no_batch_of_what_was_taken_and_given_back(self, api):
        payment = payment_of(api)
        decide(*settle(), "approve", "release")
        disputed(payment)
        assert settle() == []

        take(payment, status=Status.WON)

        assert settle() == []
        assert "pending_settlement" not in balances(payment)

    def test_of_a_later_stage_holds_what_was_paid_out(self, api, settings):
        """The chargeback was won, its payment released and paid out: the business owes the amount until the end."""
        settings.PAYOUT_REQUIRES_BALANCE = True
        payment = payment_of(api)
        take(payment, status=Status.WON)
        (batch,) = settle()
        decide(batch, "approve", "release")
        wallet = balances(payment)["wallet"]
        fee = api.post("/api/payments", orders.payout(amount=wallet - 1_000)).json()["fee"]

        disputed(payment, stage=Stage.PRE_ARBITRATION)

        after = balances(payment)
        assert (after["pending_settlement"], after["disputes_held"]) == (-AMOUNT, AMOUNT)
        assert after.get("wallet", 0) == 1_000 - fee
        refused = api.post("/api/payments", orders.payout(amount=100)).json()
        assert (refused["status"], refused["response_code"]) == ("failed", "20051")
        take(payment, stage=Stage.PRE_ARBITRATION, status=Status.LOST)
        assert balances(payment)["pending_settlement"] == -AMOUNT
        assert statuses(payment) == [("chargeback", "won"), ("pre_arbitration", "lost")]


class TestEvents:
    def test_have_the_dispute_as_data_and_subject(self, api):
        payment = payment_of(api)
        make_endpoint(business=payment.business, events=["dispute"])

        every_event_of_disputes(payment)

        bodies = [json.loads(each.body) for each in Delivery.objects.all()]
        sent = {each["event"]: each["data"] for each in bodies}
        assert {event: data["status"] for event, data in sent.items()} == {
            "dispute.opened": "needs_response",
            "dispute.due_soon": "needs_response",
            "dispute.updated": "needs_response",
            "dispute.closed": "won",
        }
        shown = api.get(f"/api/disputes/{payment.disputes.get().pk}").json()
        assert sent["dispute.closed"] == shown
        assert all(data.keys() <= shown.keys() for data in sent.values())
        subjects = [each["subject"] for each in api.get("/api/events").json()["data"]]
        assert {(each["type"], each["id"]) for each in subjects} == {("dispute", shown["id"])}
