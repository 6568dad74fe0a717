"""Refunds and returns of transfers that Paystack received: sent back by it, because it masks the sender."""

import re
from datetime import timedelta
from typing import ClassVar

import pytest
from django.test import Client
from django.utils import timezone

from ledger.invariants import check
from merchants.models import Business, User
from merchants.people.audit import Actor
from operations.administration.attention import figures
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, Proposal, Transaction
from payments.services.staff import four_eyes
from payments.services.staff.actions import refund_accounts
from payments.services.staff.meanings import meaning_of
from tests import orders
from tests.connectors.paystack.connected import paystack_connected
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from virtual_accounts.models import UnappliedMoney

pytestmark = pytest.mark.django_db


@pytest.fixture
def paystack(settings, api):
    with paystack_connected(settings, api, standing_at=timezone.now(), opens_accounts=True) as connected:
        connected.command(default={"refund": "pending"})
        yield connected


@pytest.fixture
def account(api, paystack):
    return api.post("/api/virtual-accounts", orders.static_account()).json()


@pytest.fixture
def paid(paystack, account, client):
    """Return the URL of a payment of NGN 500.00 into a static account."""
    receive(paystack, client, account, 50_000)
    return f"/api/payments/{Transaction.objects.get().reference}"


def receive(paystack, client, account, amount):
    number = account["customer"]["account_number"]
    paystack.command(receive={"account_number": number, "amount": amount, "sender_name": "Bisi Ojo"})
    paystack.deliver(client)


def refund(api, paid, reference="rf-1", **changes):
    return api.post(f"{paid}/refunds", {"reference": reference, "amount": 20_000} | changes)


def at_paystack(paystack):
    return list(paystack.simulator.integration.tables.refunds.values())


def assert_books_hold():
    assert [(one.invariant.name, one.broken) for one in check(INVARIANTS) if not one.holds] == []


def test_a_refund_goes_through_the_transaction_that_received_the_money(paystack, api, paid, client):
    made = refund(api, paid)
    assert (made.status_code, made.json()["status"]) == (201, "pending")
    assert "destination" not in made.json()

    [sent] = at_paystack(paystack)
    assert (sent.amount, sent.merchant_note) == (20_000, CardOperation.objects.get().pk.hex)
    paystack.command(refund={"id": sent.id, "status": "processed"})
    paystack.deliver(client)
    paystack.requery()

    assert api.get("/api/refunds/rf-1").json()["status"] == "success"
    assert paystack.paid() == {}  # no payout
    assert refund(api, paid).status_code == 200
    assert_books_hold()


def test_an_open_one_is_on_the_page_of_the_connector(paystack, api, paid):
    refund(api, paid)
    staff = signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())

    shown = staff.get("/admin/connector/paystack/").content.decode()

    assert f"/admin/payments/cardoperation/{CardOperation.objects.get().pk}/" in shown


def test_its_destination_cannot_be_chosen(api, paid):
    named = {"name": "Ada Obi", "account_number": "0123456789", "bank_code": "058"}

    refused = refund(api, paid, destination=named)

    assert refused.status_code == 400
    assert (refused.json()["errors"][0]["field"], refused.json()["errors"][0]["code"]) == (
        "destination",
        "not_allowed_here",
    )


def test_a_second_one_waits_for_the_first(paystack, api, paid):
    refund(api, paid)
    second = refund(api, paid, "rf-2")
    assert (second.status_code, second.json()["status"]) == (201, "pending")
    assert refund(api, paid, "rf-3").status_code == 400  # more than is left
    paystack.requery_later()
    [first] = at_paystack(paystack)

    paystack.command(refund={"id": first.id, "status": "processed"})
    paystack.requery_later()
    paystack.requery_later()

    assert len(at_paystack(paystack)) == 2
    assert api.get("/api/refunds/rf-1").json()["status"] == "success"


def test_one_whose_answer_was_lost_is_found_and_not_repeated(paystack, api, paid):
    paystack.plan("POST /refund: fail 500")
    assert refund(api, paid).json()["status"] == "pending"

    paystack.requery_later()
    paystack.requery_later()

    assert len(at_paystack(paystack)) == 1


def test_one_that_fails_can_be_made_again(paystack, api, paid):
    refund(api, paid)
    [sent] = at_paystack(paystack)
    paystack.command(refund={"id": sent.id, "status": "failed"})
    paystack.requery_later()

    failed = api.get("/api/refunds/rf-1").json()
    assert (failed["status"], failed["response_code"]) == ("failed", "20030")
    assert refund(api, paid, "rf-2", amount=50_000).status_code == 201
    assert_books_hold()


def test_unapplied_money_is_returned_the_same_way(paystack, api, account, client):
    Business.objects.update(keys_decide_unapplied=True)
    api.post(f"/api/virtual-accounts/{account['reference']}/deactivate", {})
    receive(paystack, client, account, 30_000)
    money = UnappliedMoney.objects.get()
    url = f"/api/unapplied-transfers/{money.pk}/return"
    named = {"name": "Ada Obi", "account_number": "0123456789", "bank_code": "058"}
    refused = api.post(url, {"reason": "Closed", "destination": named})
    assert refused.json()["errors"][0]["code"] == "not_allowed_here"

    assert api.post(url, {"reason": "Closed"}).status_code == 200
    [sent] = at_paystack(paystack)
    paystack.command(refund={"id": sent.id, "status": "processed"})
    paystack.deliver(client)
    paystack.requery()

    payout = Transaction.objects.get()
    assert (payout.status, payout.amount, payout.connector) == ("success", 30_000, "paystack_returns")
    assert paystack.paid() == {}
    assert_books_hold()


def test_a_refund_that_needs_the_senders_account_gets_it_from_staff(paystack, api, paid):
    refund(api, paid)
    [sent] = at_paystack(paystack)
    paystack.command(refund={"id": sent.id, "status": "needs-attention"})
    paystack.requery_later()
    asked = CardOperation.objects.get()
    assert asked.attention

    account = {"account_number": "0123456789", "bank_code": "058", "account_name": "Bisi Ojo"}
    action = refund_accounts.account_given(asked, **account, reason="Told by the payer")
    four_eyes.submit(action, user=UserFactory(), actor=Actor(name="staff"), now=timezone.now())

    assert sent.status == "processing"
    paystack.requery_later()
    assert CardOperation.objects.get().status == "success"
    assert_books_hold()


class TestAReturnThatNeedsTheSendersAccount:
    """Of unapplied money. It waits for staff, as a refund does."""

    ACCOUNT: ClassVar = {"account_number": "0123456789", "bank_code": "058", "reason": "Told by the sender"}

    @pytest.fixture
    def staff(self):
        return signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())

    @pytest.fixture
    def payout(self, paystack, api, account, client):
        Business.objects.update(keys_decide_unapplied=True)
        api.post(f"/api/virtual-accounts/{account['reference']}/deactivate", {})
        receive(paystack, client, account, 30_000)
        api.post(f"/api/unapplied-transfers/{UnappliedMoney.objects.get().pk}/return", {"reason": "Closed"})
        [sent] = at_paystack(paystack)
        paystack.command(refund={"id": sent.id, "status": "needs-attention"})
        paystack.requery_later()
        return Transaction.objects.get()

    def give(self, staff, payout, **changes):
        address = f"/admin/payments/transaction/{payout.pk}/give_account/"
        page = staff.post(address, self.ACCOUNT | changes, follow=True)
        payout.refresh_from_db()
        return page.content.decode()

    def holder(self, staff, payout):
        """Return the name that the page shows at first."""
        return re.search(r"belongs to <strong>([^<]+)", self.give(staff, payout))[1]

    def figure(self):
        [found] = [
            each for each in figures(now=timezone.now()) if each.label == "Returns that need attention"
        ]
        return found

    def test_is_listed_for_staff(self, payout, staff):
        shown = self.figure()

        assert (shown.value, shown.needs_attention, "NGN 300.00" in shown.why) == ("1", True, True)
        assert payout.reference in staff.get(shown.address).content.decode()
        page = staff.get(f"/admin/payments/transaction/{payout.pk}/change/").content.decode()
        assert "Paystack needs the payer&#x27;s bank account" in page

    def test_is_paid_after_the_name_was_seen(self, paystack, payout, staff):
        name = self.holder(staff, payout)
        [theirs] = at_paystack(paystack)
        before = theirs.status

        assert "The account was sent to the provider." in self.give(staff, payout, account_name=name)
        assert (before, theirs.status, payout.status) == ("needs-attention", "processing", "pending")
        assert not self.figure().needs_attention
        paystack.requery_later()
        payout.refresh_from_db()
        assert (payout.status, len(at_paystack(paystack)), paystack.paid()) == ("success", 1, {})
        assert_books_hold()

    def test_needs_a_second_person(self, paystack, payout, staff, settings):
        settings.FOUR_EYES = True
        second = UserFactory(is_staff=True, is_superuser=True)
        name = self.holder(staff, payout)
        self.give(staff, payout, account_name=name)
        proposal, [theirs] = Proposal.objects.get(), at_paystack(paystack)

        assert theirs.status == "needs-attention"
        assert meaning_of(proposal) == (
            f"The provider returns NGN 300.00 to account 0123456789 at bank 058 of {name}."
        )
        confirming = signed_in(User.objects.get(pk=second.pk), client=Client())
        confirming.post(f"/admin/payments/proposal/{proposal.pk}/confirm/", follow=True)
        assert theirs.status == "processing"

    @pytest.mark.parametrize("fault", ["cut", "lose_and_cut"])
    def test_whose_answer_was_lost_is_decided_by_a_query(self, paystack, payout, staff, fault):
        name = self.holder(staff, payout)
        paystack.plan(f"POST /refund/retry_with_customer_details: {fault}")
        self.give(staff, payout, account_name=name)

        assert not self.figure().needs_attention
        was_taken = at_paystack(paystack)[0].status == "processing"
        paystack.requery_later()
        payout.refresh_from_db()
        assert (payout.status == "success") == was_taken
        assert self.figure().needs_attention == (not was_taken)

    def test_takes_no_account_while_it_is_queried(self, paystack, payout, staff):
        name = self.holder(staff, payout)
        Transaction.objects.update(query_leased_until=timezone.now() + timedelta(minutes=1))

        assert "Its rail is being queried." in self.give(staff, payout, account_name=name)
        assert at_paystack(paystack)[0].status == "needs-attention"

    def test_takes_no_account_when_none_is_asked_for(self, payout, staff):
        name = self.holder(staff, payout)
        self.give(staff, payout, account_name=name)

        assert "ask for an account of this refund" in self.give(staff, payout, account_name=name)

    @pytest.mark.parametrize("status", ["processed", "failed"])
    def test_is_not_listed_after_its_outcome(self, paystack, payout, status):
        [theirs] = at_paystack(paystack)
        paystack.command(refund={"id": theirs.id, "status": status})
        paystack.requery_later()

        assert not self.figure().needs_attention
        assert UnappliedMoney.objects.get().attention == ""
        assert_books_hold()
