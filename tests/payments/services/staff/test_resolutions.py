"""Unknown outcomes that no rail answers, resolved by staff."""

from datetime import timedelta
from functools import partial

import pytest
from django.test import Client
from django.utils import timezone

from ledger.invariants import check
from ledger.models import Account
from merchants.models import AuditEntry
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, Proposal, Transaction, Transition
from payments.rails.protocol import RailAnswer
from payments.rules.outcomes import COMPLETED, DO_NOT_HONOUR
from payments.services.rails.rail_queries import query_leases
from payments.services.rails.rail_queries.query_leases import lane_of
from payments.services.rails.requery import INTERVALS, query_leased, requery, unanswered
from payments.services.staff.actions import resolutions
from payments.services.transactions import operations, transitions
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.racing import racers
from tests.transactions import authorised_payment, captured_payment
from tests.wallets import STAFF, fill_wallet
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

FORM = {"outcome": "succeeded", "reason": "Bank confirmed", "evidence": "Statement of 1 March, line 7"}


@pytest.fixture
def staff(db):
    person = UserFactory(email="staff@example.com", is_staff=True, is_superuser=True)
    return signed_in(person, client=Client())


def resolve(client, subject, outcome="succeeded", **changes):
    address = f"/admin/payments/{subject._meta.model_name}/{subject.pk}/resolve/"
    answer = client.post(address, FORM | {"outcome": outcome} | changes, follow=True)
    subject.refresh_from_db()
    return answer.content.decode()


def assert_ledger_holds():
    assert [one.invariant.name for one in check(INVARIANTS) if not one.holds] == []


def balance(business, kind="wallet"):
    return Account.objects.get(business=business, kind=kind, currency="NGN").balance


@pytest.fixture
def payout(ada, api):
    """A payout without an answer from its bank."""
    fill_wallet(ada.business, 1_000_000)
    make_endpoint(business=ada.business)
    order = orders.payout(amount=100_000)
    order["customer"]["account_number"] = "0000000097"
    shown = api.post("/api/payments", order).json()
    assert shown["status"] == "pending"
    return Transaction.objects.get(pk=shown["id"])


@pytest.fixture
def refund(ada, api, settings):
    settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
    payment = captured_payment(business=ada.business, now=timezone.now())
    transitions.apply_answer(
        payment, RailAnswer(outcome=COMPLETED), cause=Transition.Cause.RAIL, now=timezone.now()
    )
    api.post(f"/api/payments/{payment.reference}/refunds", {"reference": "rf", "amount": 20_000})
    return CardOperation.objects.get(status="pending")


class TestPayout:
    def test_resolved_as_succeeded_is_booked_like_the_banks_answer(self, staff, payout, ada):
        page = staff.get(f"/admin/payments/transaction/{payout.pk}/change/").content.decode()
        assert "Resolve outcome" in page

        assert "Resolved as succeeded." in resolve(staff, payout)

        assert (payout.status, payout.response_code, payout.fee) == ("success", "10000", 1_000)
        assert balance(ada.business) == 1_000_000 - 101_000
        assert Transition.objects.filter(transaction=payout, after="success", cause="staff").exists()
        assert Delivery.objects.get().event == "payout.success"
        assert_ledger_holds()

    def test_resolved_as_failed_gives_the_money_back(self, staff, payout, ada):
        resolve(staff, payout, "failed")

        assert (payout.status, payout.response_code, payout.gateway_code) == ("failed", "20030", "")
        assert payout.response_summary == "Payment failed"
        assert balance(ada.business) == 1_000_000
        assert_ledger_holds()

    def test_is_not_resolved_while_a_process_queries_the_bank(self, staff, payout, ada):
        """The bank may be executing the order, so resolving it as failed could pay it twice."""
        (leased,) = query_leases.lease(lane_of(payout), limit=1, at=timezone.now())

        assert "being queried" in resolve(staff, payout, "failed")
        assert (payout.status, balance(ada.business)) == ("pending", 1_000_000 - 101_000)

        query_leases.release(leased)
        assert "Resolved as failed." in resolve(staff, payout, "failed")

    def test_late_answer_changes_nothing(self, staff, payout, ada):
        (stale,) = unanswered()
        resolve(staff, payout, "failed")

        (asked,) = query_leased([stale])

        payout.refresh_from_db()
        assert asked.is_answered
        assert (payout.status, balance(ada.business)) == ("failed", 1_000_000)
        assert_ledger_holds()

    def test_is_audited_with_reason_and_evidence(self, staff, payout):
        resolve(staff, payout)

        entry = AuditEntry.objects.get(action="unknown.resolved")
        assert (entry.actor, entry.target) == ("staff@example.com", str(payout.pk))
        assert entry.after["reason"] == FORM["reason"]
        assert entry.after["evidence"] == FORM["evidence"]
        assert (entry.before["status"], entry.after["status"]) == ("pending", "success")

    @pytest.mark.parametrize("missing", ["outcome", "reason", "evidence"])
    def test_requires_outcome_reason_and_evidence(self, staff, payout, missing):
        shown = resolve(staff, payout, **{"outcome": "failed", missing: ""})

        assert "Nothing was resolved" in shown
        assert payout.status == "pending"

    def test_known_outcome_cannot_be_resolved(self, staff, payout):
        resolve(staff, payout)

        assert "Its outcome is known" in resolve(staff, payout, "failed")
        assert payout.status == "success"

    def test_requires_the_permission(self, payout):
        person = UserFactory(email="looks@example.com", is_staff=True)
        client = signed_in(person, client=Client())

        address = f"/admin/payments/transaction/{payout.pk}/resolve/"
        assert client.post(address, FORM).status_code == 403

    def test_requires_a_second_person_under_four_eyes(self, staff, payout, settings):
        settings.FOUR_EYES = True
        second = signed_in(
            UserFactory(email="second@example.com", is_staff=True, is_superuser=True), client=Client()
        )

        resolve(staff, payout)
        assert payout.status == "pending"
        proposal = Proposal.objects.get()
        assert (proposal.evidence, proposal.parameters) == (FORM["evidence"], {"outcome": "succeeded"})
        second.post(f"/admin/payments/proposal/{proposal.pk}/confirm/")

        payout.refresh_from_db()
        assert payout.status == "success"

    def test_page_shows_whether_a_second_person_is_needed(self, staff, payout, settings):
        page = f"/admin/payments/transaction/{payout.pk}/change/"
        assert "Resolve outcome" in staff.get(page).content.decode()

        settings.FOUR_EYES = True

        shown = staff.get(page).content.decode()
        assert "Propose outcome" in shown
        assert "Another person must confirm" in shown

    def test_page_shows_the_open_proposal_with_its_evidence(self, staff, payout, settings):
        settings.FOUR_EYES = True
        resolve(staff, payout)

        shown = staff.get(f"/admin/payments/transaction/{payout.pk}/change/").content.decode()

        assert "staff@example.com proposed on" in shown
        assert f"<dd>{FORM['evidence']}</dd>" in shown
        assert f"/admin/payments/proposal/{Proposal.objects.get().pk}/change/" in shown

    def test_answer_before_the_confirmation_wins(self, staff, payout, settings):
        settings.FOUR_EYES = True
        second = signed_in(
            UserFactory(email="second@example.com", is_staff=True, is_superuser=True), client=Client()
        )
        resolve(staff, payout, "failed")
        list(requery(unanswered()))

        shown = second.post(
            f"/admin/payments/proposal/{Proposal.objects.get().pk}/confirm/", follow=True
        ).content.decode()

        payout.refresh_from_db()
        assert "Its outcome is known" in shown
        assert payout.status == "success"


class TestOperation:
    @pytest.fixture
    def authorised(self, ada, api, settings):
        """Return a function that starts a capture or void of an authorised payment and leaves it unanswered."""

        def start(kind):
            payment = authorised_payment(business=ada.business, now=timezone.now())
            settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
            api.post(f"/api/payments/{payment.reference}/{kind}")
            return payment

        return start

    @pytest.mark.parametrize(
        ("outcome", "refunded", "status"), [("succeeded", 20_000, "success"), ("failed", 0, "failed")]
    )
    def test_refund_is_booked_like_the_acquirers_answer(self, staff, refund, outcome, refunded, status):
        page = staff.get(f"/admin/payments/cardoperation/{refund.pk}/change/").content.decode()
        assert "Resolve outcome" in page

        resolve(staff, refund, outcome)

        payment = refund.transaction
        assert refund.status == status
        assert (payment.amount_refunded, payment.amount_being_refunded) == (refunded, 0)
        assert_ledger_holds()

    def test_late_answer_changes_nothing(self, staff, refund):
        resolve(staff, refund)

        operations.apply_answer(
            operation_id=refund.pk,
            answer=RailAnswer(outcome=DO_NOT_HONOUR),
            cause=Transition.Cause.REQUERY,
            now=timezone.now(),
        )

        refund.refresh_from_db()
        assert refund.status == "success"
        assert refund.transaction.amount_refunded == 20_000

    @pytest.mark.parametrize(
        ("kind", "outcome", "status"),
        [
            ("capture", "succeeded", "success"),
            ("capture", "failed", "pending"),
            ("void", "succeeded", "failed"),
            ("void", "failed", "pending"),
        ],
    )
    def test_capture_and_void_finish_the_authorisation_if_they_succeeded(
        self, staff, authorised, kind, outcome, status
    ):
        payment = authorised(kind)

        resolve(staff, CardOperation.objects.get(), outcome)

        payment.refresh_from_db()
        assert payment.status == status
        assert_ledger_holds()


class TestReversal:
    @pytest.fixture
    def payment(self, ada, settings):
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
        payment = captured_payment(business=ada.business, now=timezone.now())
        now = timezone.now()
        payment.await_reversal(query_at=now, cause=Transition.Cause.REQUERY, now=now)
        return payment

    @pytest.mark.parametrize(("outcome", "status"), [("succeeded", "failed"), ("failed", "success")])
    def test_payment_fails_if_reversed_and_succeeds_if_the_charge_stands(
        self, staff, payment, outcome, status
    ):
        page = staff.get(f"/admin/payments/transaction/{payment.pk}/change/").content.decode()
        assert "hasn't confirmed that it reversed" in page

        resolve(staff, payment, outcome)

        assert payment.status == status
        assert payment.amount_captured == (payment.amount if status == "success" else 0)
        assert_ledger_holds()

    def test_of_a_partial_approval_can_only_succeed(self, staff, payment):
        """A part was approved, so resolving it as failed would book a charge of the full amount."""
        Transaction.objects.update(gateway_code="10")

        assert "approved only a part" in resolve(staff, payment, "failed")
        assert payment.status == "pending"
        resolve(staff, payment)

        assert (payment.status, payment.response_code, payment.gateway_code) == ("failed", "20013", "10")


class TestUnanswered:
    """Staff can find unanswered rows by age, with the number of queries."""

    def listed(self, client, model, **query):
        return client.get(f"/admin/payments/{model}/", query).content.decode()

    def test_transactions_are_listed_by_age(self, staff, payout):
        Transaction.objects.filter(pk=payout.pk).update(
            created_at=timezone.now() - timedelta(hours=30), queries_made=17
        )

        for age, is_listed in (("all", True), ("hour", True), ("day", True), ("week", False)):
            shown = self.listed(staff, "transaction", unanswered=age)
            assert (payout.reference in shown) is is_listed
        shown = self.listed(staff, "transaction", unanswered="day")
        assert "1\xa0day" in shown
        assert '<td class="field-queries_made">17</td>' in shown
        assert payout.connector in shown

    def test_operations_are_listed_by_age(self, staff, refund):
        for age, is_listed in (("all", True), ("hour", False)):
            shown = self.listed(staff, "cardoperation", unanswered=age)
            assert (str(refund.pk) in shown) is is_listed

    def test_resolved_rows_are_not_listed(self, staff, payout):
        resolve(staff, payout)

        assert payout.reference not in self.listed(staff, "transaction", unanswered="all")
        assert payout.reference in self.listed(staff, "transaction")


class TestIntervals:
    def test_grow_for_outcomes_without_an_answer(self, refund, settings):
        """They are queried ever less often, and never assumed to be failed."""
        settings.CARD_ACQUIRER = "tests.rails.SilentAcquirer"
        waits = []
        for _ in range(len(INTERVALS) + 2):
            refund.refresh_from_db()
            now = refund.next_query_at
            list(requery([refund], clock=lambda now=now: now))
            refund.refresh_from_db()
            waits.append(refund.next_query_at - now)

        assert waits == [*INTERVALS, INTERVALS[-1], INTERVALS[-1]]
        assert (refund.status, refund.queries_made) == ("pending", len(waits))


@pytest.mark.django_db(transaction=True)
class TestAtTheSameTime:
    """The resolution and the rail's answer lock the payment, so only one of them is booked."""

    def test_resolution_and_answer_of_a_refund_count_once(self, ada, api, settings):
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
        with racers(2) as threads:
            for turn in range(8):
                payment = captured_payment(business=ada.business, now=timezone.now())
                transitions.apply_answer(
                    payment, RailAnswer(outcome=COMPLETED), cause=Transition.Cause.RAIL, now=timezone.now()
                )
                api.post(
                    f"/api/payments/{payment.reference}/refunds", {"reference": f"rf-{turn}", "amount": 900}
                )
                refund = CardOperation.objects.get(reference=f"rf-{turn}")

                threads.race(partial(self.resolve, refund), partial(self.answer, refund))

                refund.refresh_from_db()
                payment.refresh_from_db()
                refunded = 900 if refund.status == "success" else 0
                assert (payment.amount_refunded, payment.amount_being_refunded) == (refunded, 0)
        assert_ledger_holds()

    def resolve(self, refund):
        return resolutions.resolve_operation(
            refund.pk,
            succeeded=False,
            reason="Statement",
            evidence="Line 7",
            actor=STAFF,
            now=timezone.now(),
        )

    def answer(self, refund):
        return operations.apply_answer(
            operation_id=refund.pk,
            answer=RailAnswer(outcome=COMPLETED),
            cause=Transition.Cause.REQUERY,
            now=timezone.now(),
        )
