"""A bank gives a payout back after it had reported success."""

import pytest
from django.test import Client
from django.utils import timezone

from ledger.models import Account, Entry
from merchants.models import AuditEntry, User
from payments.models import InvalidState, Reversal, Transaction
from payments.services import reversals
from tests import orders
from tests.settling import STAFF
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

ADD = "/admin/payments/reversal/add/"


@pytest.fixture
def payout(api):
    order = orders.payout(amount=250_000)
    api.post("/api/payments", order)
    return Transaction.objects.get(reference=order["reference"])


def wallet():
    return Account.objects.get(kind="wallet", currency="NGN").balance


def reverse(payout):
    return reversals.reverse(transaction_id=payout.pk, reason="Closed", actor=STAFF, now=timezone.now())


class TestReversal:
    def test_credits_the_amount_and_keeps_the_fee(self, payout):
        assert reverse(payout)

        assert wallet() == -1_000
        entry = Entry.objects.get(kind="payout_reversed")
        assert (entry.cause, entry.note) == (payout.pk, "Closed")

    def test_leaves_the_payout_as_it_was_told(self, payout, api):
        before = api.get(f"/api/payments/{payout.reference}").json()

        reverse(payout)

        assert api.get(f"/api/payments/{payout.reference}").json() == before
        assert payout.reversal.reason == "Closed"
        assert not Delivery.objects.exists()

    def test_happens_once(self, payout):
        assert reverse(payout)
        assert not reverse(payout)

        assert wallet() == -1_000
        assert AuditEntry.objects.filter(action="payout.reversed").count() == 1

    @pytest.mark.parametrize("order", [orders.payout(amount=250_051), orders.card_payment()])
    def test_is_of_successful_payouts_only(self, api, order):
        api.post("/api/payments", order)

        with pytest.raises(InvalidState):
            reverse(Transaction.objects.get())


class TestAdministration:
    @pytest.fixture
    def staff(self):
        client = Client()
        client.force_login(User.objects.create_superuser("staff@example.com", "a long enough password"))
        return client

    def test_reverses_with_a_reason_and_is_audited(self, staff, payout):
        assert staff.get(ADD).status_code == 200
        assert staff.post(ADD, {"transaction": payout.pk, "reason": "Closed"}).status_code == 302

        assert wallet() == -1_000
        assert Reversal.objects.get().actor == "staff@example.com"
        told = AuditEntry.objects.get(action="payout.reversed")
        assert (told.actor, told.target) == ("staff@example.com", str(payout.pk))

    def test_reverses_nothing_twice_or_without_a_reason(self, staff, payout):
        assert staff.post(ADD, {"transaction": payout.pk, "reason": ""}).status_code == 200
        staff.post(ADD, {"transaction": payout.pk, "reason": "Closed"})
        again = staff.post(ADD, {"transaction": payout.pk, "reason": "Closed"})

        assert "already exists" in again.content.decode()
        assert Entry.objects.filter(kind="payout_reversed").count() == 1

    def test_reverses_payouts_only(self, staff, api):
        api.post("/api/payments", orders.card_payment())

        answer = staff.post(ADD, {"transaction": Transaction.objects.get().pk, "reason": "Closed"})

        assert "Only a successful payout" in answer.content.decode()
        assert not Reversal.objects.exists()
