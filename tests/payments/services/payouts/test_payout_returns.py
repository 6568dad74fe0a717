"""Payout returns, notified by the bank or entered by staff."""

import json
import uuid
from functools import partial

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from ledger.invariants import check
from ledger.models import Account, Entry
from merchants.models import AuditEntry, User
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, InvalidState, PayoutReturn, Reversal, Transaction
from payments.rails.protocol import RailAnswer
from payments.rules import outcomes
from payments.services.payouts import payout_returns
from payments.services.rails import requery
from payments.services.staff.actions import resolutions
from payments.services.transactions import transitions
from payments.tasks import requery_due
from tests import orders
from tests.bank_signing import KEY, signed_headers
from tests.dashboard.people import signed_in
from tests.racing import racers
from tests.settling import STAFF
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

ADD = "/admin/payments/payoutreturn/add/"


@pytest.fixture(autouse=True)
def _key(settings):
    settings.BANK_NOTIFICATION_KEYS = [KEY]


@pytest.fixture
def payout(api):
    """A successful payout of 250,000 with a fee of 1,000."""
    order = orders.payout(amount=250_000)
    api.post("/api/payments", order)
    return Transaction.objects.get(reference=order["reference"])


@pytest.fixture
def pending(api):
    """A payout without an answer."""
    order = orders.payout(amount=250_000)
    order["customer"] |= {"account_number": "0000000097"}
    api.post("/api/payments", order)
    return Transaction.objects.get(reference=order["reference"])


@pytest.fixture
def notify(client):
    """Return a function that sends the bank's signed notification of a returned payout."""

    def send(payout, *, path="/bank/payout-returns", key=KEY, **changes):
        members = {
            "bank_reference": "ret-1",
            "payout_reference": payout.pk.hex,
            "amount": payout.amount,
            "currency": "NGN",
            "reason": "Account closed",
        } | changes
        raw = json.dumps({name: value for name, value in members.items() if value is not ...}).encode()
        headers = signed_headers(raw, key=key)
        return client.generic("POST", path, raw, content_type="application/json", headers=headers)

    return send


def wallet():
    return Account.objects.get(kind="wallet", currency="NGN").balance


def suspense():
    account = Account.objects.filter(kind="suspense", currency="NGN").first()
    return account.balance if account else 0


def broken():
    return [(one.invariant.name, one.broken) for one in check(INVARIANTS) if not one.holds]


def shown(api, payout):
    return api.get(f"/api/payments/{payout.reference}").json()


def reverse(payout):
    return payout_returns.reverse(transaction_id=payout.pk, reason="Closed", actor=STAFF, now=timezone.now())


class TestReturnOfASuccessfulPayout:
    def test_credits_the_wallet_and_keeps_fee_and_status(self, api, payout, notify):
        before = shown(api, payout)

        answer = notify(payout)

        assert (answer.status_code, answer.json()) == (
            200,
            {"bank_reference": "ret-1", "applied": "reversed", "reason": "", "replayed": False},
        )
        after = shown(api, payout)
        reversal = after.pop("reversal")
        assert after == before
        assert (reversal["amount"], reversal["reason"]) == (250_000, "Account closed")
        assert reversal["at"].endswith("Z")
        assert wallet() == -1_000

    def test_has_its_own_ledger_entry(self, payout, notify):
        notify(payout)

        entry = Entry.objects.get(kind="payout_reversed")
        assert (entry.cause, entry.note) == (PayoutReturn.objects.get().pk, "Account closed")

    def test_repeated_is_booked_once(self, payout, notify):
        answers = [notify(payout).json()["replayed"] for _ in range(3)]

        assert answers == [False, True, True]
        assert wallet() == -1_000

    def test_in_parts_shows_the_sum_and_the_last_reason(self, api, payout, notify):
        notify(payout, amount=100_000)
        notify(payout, bank_reference="ret-2", amount=150_000, reason=...)

        reversal = shown(api, payout)["reversal"]
        assert (reversal["amount"], reversal["reason"]) == (250_000, "Returned by the bank")
        assert wallet() == -1_000

    def test_never_exceeds_the_amount(self, api, payout, notify):
        notify(payout, amount=200_000)

        answer = notify(payout, bank_reference="ret-2", amount=50_001)

        assert (answer.status_code, answer.json()["applied"], answer.json()["reason"]) == (
            200, "unmatched", "too_much",
        )  # fmt: skip
        assert shown(api, payout)["reversal"]["amount"] == 200_000
        assert wallet() == -51_000

    def test_is_limited_by_a_constraint(self, payout):
        for amount in (250_001, -1):
            with pytest.raises(IntegrityError), transaction.atomic():
                Transaction.objects.filter(pk=payout.pk).update(amount_returned=amount)

    def test_is_found_by_the_id_with_hyphens(self, payout, notify):
        assert notify(payout, payout_reference=str(payout.pk).upper()).json()["applied"] == "reversed"

    def test_publishes_none_of_the_five_default_events(self, ada, payout, notify):
        make_endpoint(business=ada.business)

        notify(payout)

        assert not Delivery.objects.exists()

    def test_is_listed_without_a_query_for_each(self, api, notify, django_assert_max_num_queries):
        for place in range(3):
            order = orders.payout()
            api.post("/api/payments", order)
            notify(Transaction.objects.get(reference=order["reference"]), bank_reference=f"ret-{place}")

        with django_assert_max_num_queries(6):
            listed = api.get("/api/payments?request_type=payout").json()["data"]

        assert [each["reversal"]["amount"] for each in listed] == [250_000] * 3

    def test_with_unusual_fields_is_booked(self, payout, notify):
        answer = notify(payout, reason={"code": 7, "text": "x" * 999}, channel=[1], narration=None)

        assert answer.json()["applied"] == "reversed"
        recorded = PayoutReturn.objects.get()
        assert recorded.reason.startswith('{"code": 7')
        assert recorded.extra_members == {"channel": "[1]", "narration": ""}


class TestReturnOfAPendingPayout:
    def test_fails_it_and_credits_amount_and_fee(self, ada, api, pending, notify):
        make_endpoint(business=ada.business)
        assert wallet() == -251_000

        answer = notify(pending)

        after = shown(api, pending)
        assert answer.json()["applied"] == "failed"
        assert (after["status"], after["response_code"], after["response_summary"]) == (
            "failed", "20030", "Payment failed",
        )  # fmt: skip
        assert "reversal" not in after
        assert wallet() == 0
        assert [json.loads(sent.body)["event"] for sent in Delivery.objects.all()] == ["payout.failed"]

    def test_stays_failed_whatever_the_bank_answers_later(self, api, pending, notify):
        notify(pending)

        list(requery.requery([pending]))

        assert shown(api, pending)["status"] == "failed"
        assert wallet() == 0

    def test_in_part_is_recorded_for_operators(self, api, pending, notify):
        answer = notify(pending, amount=1)

        assert (answer.json()["applied"], answer.json()["reason"]) == ("unmatched", "partial")
        assert shown(api, pending)["status"] == "pending"


class TestReturnByTheMerchantsReference:
    def test_is_applied_if_the_reference_is_unique(self, api, payout, notify):
        answer = notify(payout, payout_reference=payout.reference)

        assert answer.json()["applied"] == "reversed"
        assert shown(api, payout)["reversal"]["amount"] == 250_000
        assert PayoutReturn.objects.get().payout_reference == payout.reference

    def test_is_recorded_for_operators_if_two_businesses_use_it(self, api, other_api, payout, notify):
        other_api.post("/api/payments", orders.payout(reference=payout.reference))

        answer = notify(payout, payout_reference=payout.reference)

        assert (answer.status_code, answer.json()["applied"], answer.json()["reason"]) == (
            200, "unmatched", "ambiguous",
        )  # fmt: skip
        assert PayoutReturn.objects.get().transaction is None
        assert "reversal" not in shown(api, payout)

    def test_has_lower_priority_than_the_id(self, api, other_api, payout, notify):
        """A merchant who uses another payout's id as a reference can't receive its return."""
        thief = orders.payout(reference=payout.pk.hex)
        other_api.post("/api/payments", thief)

        notify(payout)

        assert shown(api, payout)["reversal"]["amount"] == 250_000
        assert "reversal" not in other_api.get(f"/api/payments/{payout.pk.hex}").json()

    def test_does_not_match_a_payment_or_card_check(self, api, notify):
        order = orders.card_payment(amount=250_000)
        api.post("/api/payments", order)

        answer = notify(Transaction.objects.get(), payout_reference=order["reference"])

        assert answer.json()["reason"] == "unknown_payout"

    def test_of_a_pending_payout_fails_it(self, api, pending, notify):
        assert notify(pending, payout_reference=pending.reference).json()["applied"] == "failed"


class TestReturnThatMatchesNothing:
    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"payout_reference": "order-1"}, "unknown_payout"),
            ({"payout_reference": uuid.uuid4().hex}, "unknown_payout"),
            ({"currency": "USD"}, "other_currency"),
            ({"amount": 250_001}, "too_much"),
            ({"amount": 2**63 - 1}, "too_much"),
        ],
    )
    def test_is_recorded_for_operators(self, payout, notify, changes, why):
        answers = [notify(payout, **changes) for _ in range(2)]

        assert [(answer.status_code, answer.json()["reason"]) for answer in answers] == [(200, why)] * 2
        assert PayoutReturn.objects.get().applied == "unmatched"
        assert wallet() == -251_000

    def test_is_not_applied_to_a_payment(self, api, notify):
        api.post("/api/payments", orders.card_payment(amount=250_000))

        assert notify(Transaction.objects.get()).json()["reason"] == "unknown_payout"

    def test_of_a_failed_payout_is_not_applied(self, api, notify):
        api.post("/api/payments", orders.payout(amount=250_051))

        assert notify(Transaction.objects.get()).json()["reason"] == "already_failed"

    def test_is_listed_in_the_administration(self, payout, notify):
        notify(payout, payout_reference="order-1")
        staff = signed_in(User.objects.create_superuser("staff@example.com", "a long enough password"))

        listed = staff.get("/admin/payments/payoutreturn/", {"applied__exact": "unmatched"})

        assert "order-1" in listed.content.decode()


class TestNotification:
    def test_with_an_invalid_field_is_rejected(self, subtests, payout, notify):
        for field, value in [
            ("bank_reference", ...), ("bank_reference", "a b"), ("payout_reference", ...),
            ("payout_reference", ""), ("payout_reference", 7), ("amount", 0), ("amount", "1"),
            ("amount", 2**63), ("currency", "naira"), ("currency", ...),
        ]:  # fmt: skip
            with subtests.test(field=field, value=value):
                answer = notify(payout, **{field: value})

                assert answer.status_code == 400
                assert {error["field"] for error in answer.json()["errors"]} == {field}
                assert not PayoutReturn.objects.exists()

    @pytest.mark.parametrize("change", [{"amount": 1}, {"currency": "USD"}, {"payout_reference": "x"}])
    def test_with_a_used_reference_is_rejected(self, payout, notify, change):
        notify(payout)

        answer = notify(payout, **change)

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert wallet() == -1_000

    def test_with_an_invalid_signature_is_rejected(self, payout, notify):
        answer = notify(payout, key="x" * 40)

        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_signature")
        assert not PayoutReturn.objects.exists()


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_concurrent_notifications_book_it_once(self, payout, notify):
        with racers(4) as line:
            answers = line.race(*[lambda: notify(payout)] * 4)

        assert sorted(answer.json()["replayed"] for answer in answers) == [False, True, True, True]
        assert wallet() == -1_000

    def test_concurrent_returns_never_exceed_the_amount(self, payout, notify):
        calls = [
            (lambda place=place: notify(payout, bank_reference=f"ret-{place}", amount=100_000))
            for place in range(4)
        ]

        with racers(4) as line:
            answers = line.race(*calls)

        applied = sorted(answer.json()["applied"] for answer in answers)
        assert applied == ["reversed", "reversed", "unmatched", "unmatched"]
        assert wallet() == -51_000

    def test_return_and_answer_of_a_pending_payout_book_once(self, api, pending, notify):
        with racers(2) as line:
            line.race(
                lambda: notify(pending).json(),
                lambda: list(requery.requery([pending])),
            )

        after = shown(api, pending)
        assert (after["status"], wallet()) in {("failed", 0), ("success", -1_000)}


class TestReversalByStaff:
    def test_credits_the_rest(self, payout, notify):
        notify(payout, amount=100_000)

        assert reverse(payout)

        assert wallet() == -1_000
        assert sorted(PayoutReturn.objects.values_list("amount", flat=True)) == [100_000, 150_000]

    def test_happens_once(self, payout):
        assert reverse(payout)
        assert not reverse(payout)

        assert wallet() == -1_000
        assert AuditEntry.objects.filter(action="payout.reversed").count() == 1

    def test_leaves_nothing_to_return_for_the_bank(self, payout, notify):
        reverse(payout)

        assert notify(payout).json()["reason"] == "too_much"
        assert wallet() == -1_000

    def test_by_a_host_of_the_first_release_also_leaves_nothing(self, payout, notify):
        Reversal.objects.create(transaction=payout, reason="Closed", actor="staff", at=timezone.now())

        assert notify(payout).json()["reason"] == "too_much"
        assert not reverse(payout)

    @pytest.mark.parametrize("order", [orders.payout(amount=250_051), orders.card_payment()])
    def test_applies_to_successful_payouts_only(self, api, order):
        api.post("/api/payments", order)

        with pytest.raises(InvalidState):
            reverse(Transaction.objects.get())


class TestAdministration:
    @pytest.fixture
    def staff(self):
        client = Client()
        signed_in(User.objects.create_superuser("staff@example.com", "a long enough password"), client=client)
        return client

    def test_reverses_with_a_reason_and_is_audited(self, staff, payout):
        assert staff.get(ADD).status_code == 200
        assert staff.post(ADD, {"transaction": payout.pk, "reason": "Closed"}).status_code == 302

        assert wallet() == -1_000
        assert PayoutReturn.objects.get().actor == "staff@example.com"
        entry = AuditEntry.objects.get(action="payout.reversed")
        assert (entry.actor, entry.target) == ("staff@example.com", str(payout.pk))

    def test_reverses_nothing_twice_or_without_a_reason(self, staff, payout):
        assert staff.post(ADD, {"transaction": payout.pk, "reason": ""}).status_code == 200
        staff.post(ADD, {"transaction": payout.pk, "reason": "Closed"})
        again = staff.post(ADD, {"transaction": payout.pk, "reason": "Closed"})

        assert "already returned in full" in again.content.decode()
        assert Entry.objects.filter(kind="payout_reversed").count() == 1

    def test_reverses_payouts_only(self, staff, api):
        api.post("/api/payments", orders.card_payment())

        answer = staff.post(ADD, {"transaction": Transaction.objects.get().pk, "reason": "Closed"})

        assert "Only a successful payout" in answer.content.decode()
        assert not PayoutReturn.objects.exists()


class TestReturnOfARefund:
    """The bank returns the refund of a transfer payment (decision 0024)."""

    @pytest.mark.parametrize("account_number", ["0123456789", "0000000097"], ids=["successful", "pending"])
    def test_is_recorded_for_operators_and_changes_nothing(self, api, notify, account_number):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
        order = orders.transfer_payment(account)
        number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 50_000})
        to = {"name": "Bisi Ade", "account_number": account_number, "bank_code": "058"}
        wanted = {"reference": "rf-1", "destination": to}
        made = api.post(f"/api/payments/{order['reference']}/refunds", wanted).json()
        operation = CardOperation.objects.get()

        answer = notify(operation)

        assert (answer.status_code, answer.json()["applied"], answer.json()["reason"]) == (
            200,
            "unmatched",
            "refund",
        )
        assert api.get("/api/refunds/rf-1").json() == made
        assert PayoutReturn.objects.get().payout_reference == operation.pk.hex


class TestPartialReturnBeforeTheSuccess:
    """The bank returns a part of a payout whose own answer was lost, and then confirms it."""

    @pytest.fixture
    def confirm(self, pending):
        """Return a function with which the bank confirms the payout."""
        return lambda: resolutions.resolve_transaction(
            pending.pk, succeeded=True, reason="Confirmed", evidence="Line 7", actor=STAFF, now=timezone.now()
        )

    def test_is_credited_when_the_payout_succeeds(self, ada, api, pending, notify, confirm):
        make_endpoint(business=ada.business, events=["payout", "reversal"])
        notify(pending, amount=100_000)
        assert suspense() == 100_000

        confirm()

        assert [(one.applied, one.why) for one in PayoutReturn.objects.all()] == [("reversed", "")]
        assert shown(api, pending)["reversal"]["amount"] == 100_000
        assert (wallet(), suspense()) == (-151_000, 0)
        events = [json.loads(sent.body)["event"] for sent in Delivery.objects.order_by("created_at")]
        assert sorted(events) == ["payout.reversed", "payout.success"]
        assert broken() == []

    def test_in_several_parts_is_credited_in_full(self, pending, notify, confirm):
        notify(pending, amount=100_000)
        notify(pending, bank_reference="ret-2", amount=150_000)

        confirm()

        assert (wallet(), suspense()) == (-1_000, 0)
        assert broken() == []

    def test_stays_in_suspense_beyond_the_amount(self, pending, notify, confirm):
        notify(pending, amount=100_000)
        notify(pending, bank_reference="ret-2", amount=200_000)

        confirm()

        assert sorted(PayoutReturn.objects.values_list("amount", "why")) == [
            (100_000, ""),
            (200_000, "too_much"),
        ]
        assert (wallet(), suspense()) == (-151_000, 200_000)
        assert broken() == []

    def test_stays_in_suspense_if_the_payout_fails(self, pending, notify):
        notify(pending, amount=100_000)

        notify(pending, bank_reference="ret-2")

        assert PayoutReturn.objects.get(amount=100_000).why == "already_failed"
        assert (wallet(), suspense()) == (0, 100_000)
        assert broken() == []

    def test_of_a_payout_that_is_being_sent_is_credited_soon(self, pending, notify):
        """The bank's return overtakes its answer to the order."""
        notify(pending, amount=100_000)
        pending.refresh_from_db()
        sent = RailAnswer(outcome=outcomes.COMPLETED)
        transitions.apply_answer(pending, sent, cause=transitions.Cause.RAIL, now=timezone.now())
        assert (wallet(), suspense()) == (-251_000, 100_000)

        requery_due()

        assert (wallet(), suspense()) == (-151_000, 0)
        assert broken() == []


@pytest.mark.django_db(transaction=True)
class TestRaceOfPartialReturnAndSuccess:
    @pytest.mark.parametrize("place", range(4))
    def test_credits_the_part_once(self, pending, notify, place):
        """Whichever is first, the other one finds it."""
        confirmed = partial(
            resolutions.resolve_transaction, pending.pk, succeeded=True, reason="Confirmed", evidence="Line 7",
            actor=STAFF, now=timezone.now(),
        )  # fmt: skip

        with racers(2) as line:
            line.race(lambda: notify(pending, amount=100_000).json(), confirmed)

        assert PayoutReturn.objects.get().applied == "reversed"
        assert (wallet(), suspense()) == (-151_000, 0)
        assert broken() == []
