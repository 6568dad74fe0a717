"""Money from a bank transfer goes back to the sender's account, on every way of returning it."""

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from merchants.models import AuditEntry, Business
from payments.models import CardOperation, Proposal, Transaction
from payments.services.staff import four_eyes, made_about
from payments.services.transfers import unapplied_decisions
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory, UserFactory
from tests.unapplied import mismatched_money
from tests.wallets import STAFF

pytestmark = pytest.mark.django_db

SENDER = {"sender_account_number": "1112223334", "sender_bank_code": "044"}
ELSEWHERE = {"account_number": "0123456789", "bank_code": "058"}
# Possible entries for an account: complete or partial.
ENTERED = [
    ELSEWHERE,
    {"account_number": "0123456789"},
    {"bank_code": "058"},
    {"account_number": "1112223334"},
]


@pytest.fixture
def money(ada):
    """Unapplied money with a known sender."""
    return mismatched_money(business=ada.business, now=timezone.now(), **SENDER)


@pytest.fixture
def staff():
    return UserFactory(email="first@example.com", is_staff=True, is_superuser=True)


@pytest.fixture
def finance(ada):
    return signed_in(MemberFactory(business=ada.business, role="finance").user)


def payouts():
    return list(Transaction.objects.filter(request_type="payout").values_list("account_number", "bank_code"))


def stays_open(money):
    money.refresh_from_db()
    return money.is_open and payouts() == []


def submit_return(person, money, **entered):
    """Submit the admin form of a return, and return the resulting page."""
    address = reverse("admin:virtual_accounts_unappliedmoney_return", args=[money.pk])
    answer = signed_in(person, client=Client()).post(
        address, {"reason": "Not theirs.", **entered}, follow=True
    )
    return answer.content.decode()


class TestReturnOfUnappliedMoney:
    @pytest.mark.parametrize("entered", ENTERED)
    def test_in_the_service_rejects_another_account(self, money, entered):
        with pytest.raises(unapplied_decisions.SenderKnown):
            unapplied_decisions.return_to_sender(
                money.pk, reason="Not theirs.", actor=STAFF, now=timezone.now(), **entered
            )

        assert stays_open(money)

    def test_in_the_service_is_checked_in_the_shared_function(self, money):
        named = {"name": "Bisi Ojo", **ELSEWHERE}

        with pytest.raises(ValidationError):
            unapplied_decisions.return_locked(
                money, named=named, bank=None, reason="Not theirs.", actor=STAFF, now=timezone.now()
            )

        assert stays_open(money)

    @pytest.mark.parametrize("entered", ENTERED)
    @pytest.mark.parametrize("four_eyes", [False, True])
    def test_in_the_admin_rejects_another_account(self, staff, money, settings, entered, four_eyes):
        settings.FOUR_EYES = four_eyes

        said = submit_return(staff, money, **entered)

        assert "goes back to the sender&#x27;s account" in said
        assert stays_open(money)
        assert not Proposal.objects.exists()
        assert not AuditEntry.objects.filter(action__startswith="unapplied.").exists()

    def test_in_the_admin_shows_no_account_fields(self, staff, money):
        page = signed_in(staff, client=Client()).get(
            reverse("admin:virtual_accounts_unappliedmoney_change", args=[money.pk])
        )

        assert 'name="account_number"' not in page.content.decode()
        assert "1112223334" in page.content.decode()

    def test_in_the_admin_pays_the_sender(self, staff, money, settings):
        settings.FOUR_EYES = False

        assert "The money is returned." in submit_return(staff, money)
        assert payouts() == [("1112223334", "044")]

    def test_in_the_admin_requires_an_account_if_the_sender_is_unknown(self, staff, ada, settings):
        settings.FOUR_EYES = True
        money = mismatched_money(business=ada.business, now=timezone.now())

        assert "The bank did not send them" in submit_return(staff, money)
        assert not Proposal.objects.exists()
        assert "awaits" in submit_return(staff, money, **ELSEWHERE)

    def test_proposed_to_another_account_cannot_be_confirmed(self, staff, money, settings):
        settings.FOUR_EYES = True
        second = UserFactory(email="second@example.com", is_staff=True, is_superuser=True)
        now = timezone.now()
        stored = Proposal.objects.create(
            id=uuid.uuid4(), action="return_unapplied", target=money.pk, business=money.business,
            currency=money.currency, amount=money.amount, parameters=ELSEWHERE, reason="Not theirs.",
            made_about=made_about.unapplied(money), confirmers=[second.pk],
            proposed_by=staff, created_at=now, expires_at=now + timedelta(days=1),
        )  # fmt: skip

        with pytest.raises(unapplied_decisions.SenderKnown):
            four_eyes.confirm(stored.pk, user=second, actor=STAFF, now=now)

        assert stays_open(money)

    @pytest.mark.parametrize("entered", ENTERED)
    def test_in_the_dashboard_rejects_another_account(self, finance, money, entered):
        form = {"decision": "return", "reason": "Sent twice", "step": "confirmed", **entered}

        finance.post(f"/dashboard/virtual-accounts/unapplied/{money.pk}/", form)

        assert payouts() == [("1112223334", "044")]

    def test_in_the_api_rejects_another_account(self, api, ada, money):
        Business.objects.filter(pk=ada.business_id).update(keys_decide_unapplied=True)
        named = {"name": "Bisi Ojo", **ELSEWHERE}

        answer = api.post(
            f"/api/unapplied-transfers/{money.pk}/return", {"reason": "Theirs", "destination": named}
        )

        assert (answer.status_code, answer.json()["code"]) == (400, "not_allowed_here")
        assert stays_open(money)


class TestRefundOfTransferPayment:
    @pytest.fixture
    def paid(self, api):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
        opened = api.post("/api/payments", orders.transfer_payment(account, reference="paid-1")).json()
        request = {
            "account_number": opened["virtual_account_details"]["account_number"],
            "amount": opened["amount"],
            "sender_name": "Bisi Ojo",
        }
        api.post("/api/virtual-accounts/simulate", request | SENDER)
        return Transaction.objects.get(reference="paid-1")

    def test_in_the_dashboard_rejects_another_account(self, finance, paid):
        form = {"reference": "refund-1", "amount": "", "name": "Eve", "step": "confirmed", **ELSEWHERE}

        finance.post(f"/dashboard/payments/{paid.pk}/refund/", form)

        refund = CardOperation.objects.get()
        assert (refund.destination_account_number, refund.destination_bank_code) == ("1112223334", "044")

    def test_in_the_api_rejects_another_account(self, api, paid):
        destination = {"name": "Eve", **ELSEWHERE}

        answer = api.post(
            "/api/payments/paid-1/refunds", {"reference": "refund-1", "destination": destination}
        )

        assert (answer.status_code, answer.json()["code"]) == (400, "not_allowed_here")
        assert not CardOperation.objects.exists()
