"""Card payments on Paystack's own page: from our page to theirs, and back."""

import re
from datetime import timedelta
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from connectors.paystack import refunds
from connectors.paystack.api import bank_codes
from connectors.paystack.api.bank_codes import BankCodes
from connectors.services import event_processing
from kit.connectors import connectors
from merchants.models import User
from payments import rails
from payments.models import (
    CardOperation,
    Challenge,
    PaymentLink,
    Proposal,
    RailBlock,
    Transaction,
    WatchedAuthorisation,
)
from payments.rails.protocol import CardAcquirer
from payments.rules.sandbox_triggers import UNKNOWN_ACCOUNT
from payments.services.checkouts import checkouts
from payments.services.rails.requery import requery_due
from payments.services.staff.meanings import meaning_of
from tests import orders
from tests.connectors.paystack.client import NO_FUNDS
from tests.connectors.paystack.connected import paystack_connected
from tests.connectors.paystack.shop import AMOUNT, Shop
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory, UserFactory
from tests.payers import Payer

pytestmark = pytest.mark.django_db


@pytest.fixture
def paystack(settings, api, takes_cards):
    with paystack_connected(settings, api) as connected:
        yield connected
    call_command("check_ledger")


@pytest.fixture
def shop(paystack):
    return Shop(paystack)


@pytest.fixture
def paid(shop):
    shop.come_back(shop.enter(shop.go()))
    assert shop.outcome() == ("success", "10000")
    return shop


class TestAPayment:
    def test_is_paid_on_their_page_and_shows_the_card(self, shop):
        assert '<b id="hand">You enter your card on Paystack' in shop.shown()

        leads_to = shop.come_back(shop.enter(shop.go()))

        assert leads_to == shop.checkout
        shown = shop.api.get(f"/api/payments/{shop.payment.reference}").json()
        assert (shown["status"], shown["response_code"]) == ("success", "10000")
        assert (shown["source"]["card_type"], shown["source"]["card_last4"]) == ("VISA", "4081")
        assert "4081" in shop.payer.get(f"{shop.checkout}/receipt").content.decode()
        assert shop.charged() == AMOUNT

    def test_can_be_tried_again_there_after_a_decline(self, shop):
        page = shop.go()
        assert shop.enter(page, NO_FUNDS).path == ""  # Paystack's page stays

        shop.come_back(shop.enter(page))

        assert shop.outcome() == ("success", "10000")

    def test_can_be_left_and_taken_up_again(self, shop):
        page = shop.go()

        leads_to = shop.come_back(shop.cancel(page))

        assert leads_to == shop.checkout
        assert "You have not paid yet" in shop.shown()
        assert shop.payment.awaiting == "payer"
        shop.come_back(shop.enter(page))
        assert shop.outcome() == ("success", "10000")

    @pytest.mark.parametrize("status", ["reversed", "reversal-pending"])
    def test_that_is_refunded_from_their_dashboard_was_paid(self, shop, status):
        address = shop.enter(shop.go())
        [charged] = shop.paystack.simulator.integration.tables.transactions.values()
        charged.status = status

        shop.come_back(address)

        assert shop.outcome() == ("success", "10000")

    def test_without_a_known_card_shows_none(self, shop, ada):
        shop.go()

        shown = shop.api.get(f"/api/payments/{shop.payment.reference}").json()

        assert shown["status"] == "pending"
        assert "source" not in shown
        member = signed_in(MemberFactory(business=ada.business).user)
        page = member.get(reverse("dashboard-payment", args=[shop.payment.pk])).content.decode()
        assert "Payer sent to the card page" in page
        assert "3-D Secure" not in page
        assert "Waiting for the card" in member.get(reverse("dashboard-payments")).content.decode()

    def test_fails_when_our_time_is_over_and_is_watched(self, shop):
        page = shop.go()
        shop.enter(page, NO_FUNDS)

        shop.let_pass(15, 1)

        assert shop.outcome() == ("failed", "20051")
        assert shop.payment.gateway_code == "51"
        assert WatchedAuthorisation.objects.get().is_open

    def test_that_nobody_tried_fails_as_not_confirmed(self, shop):
        shop.go()

        shop.let_pass(15, 1)

        assert shop.outcome() == ("failed", "20151")

    def test_on_a_page_that_was_given_up_is_refunded_by_itself(self, shop):
        page = shop.go()
        shop.payer.end(shop.checkout)
        assert shop.outcome() == ("failed", "20091")

        shop.enter(page)
        shop.let_pass(1, 1, 1)

        assert shop.charged() == 0
        assert WatchedAuthorisation.objects.get().returned_at is not None

    def test_of_a_payer_who_never_comes_back_is_found_by_the_event(self, shop):
        shop.enter(shop.go())
        event = shop.paystack.simulator.integration.outbox.events[-1]
        signed = {"x-paystack-signature": event.signature}
        Client().post("/connectors/paystack", event.body, content_type="application/json", headers=signed)

        event_processing.process_due()
        list(requery_due())
        assert shop.outcome() == ("success", "10000")

    def test_holds_one_attempt_in_two_tabs(self, shop):
        shop.go()

        again = shop.payer.post(f"{shop.checkout}/card", {"attempt": "0"})

        assert again.headers["Location"] == shop.checkout
        assert Transaction.objects.count() == 1

    @pytest.mark.parametrize("fault", ["swallow", "cut"])
    def test_whose_page_was_not_answered_fails_at_once_and_is_watched(self, shop, fault):
        shop.paystack.plan(f"POST /transaction/initialize: {fault}")
        acquirer = connectors.make(rails.ACQUIRERS["paystack"], protocol=CardAcquirer)
        acquirer._connector._client._timeout = 0.4

        shop.payer.post(f"{shop.checkout}/card", {"attempt": "0"})

        assert shop.outcome() == ("failed", "20030")
        assert WatchedAuthorisation.objects.get().is_open
        assert not Challenge.objects.exists()
        shop.go(attempt=1)


class TestABlockOfPayouts:
    def test_leaves_cards_alone_and_is_not_ended_by_them(self, shop):
        shop.paystack.command(switch={"otp": True})
        shop.paystack.pay_out(reference="payout-1")
        assert shop.paystack.post(reference="payout-2").status_code == 503

        shop.come_back(shop.enter(shop.go()))

        assert shop.outcome() == ("success", "10000")
        assert shop.paystack.post(reference="payout-2").status_code == 503


class TestABlockOfCards:
    def test_is_not_offered_by_links_until_a_probe_is_due(self, shop):
        link = PaymentLink.objects.get()
        shop.paystack.plan("POST /transaction/initialize: refuse 401")
        shop.payer.post(f"{shop.checkout}/card", {"attempt": "0"})
        blocked = checkouts.methods_of(link, AMOUNT)

        shop.paystack.pass_time(61)
        probed = checkouts.methods_of(link, AMOUNT)
        shop.come_back(shop.enter(shop.go(attempt=1)))

        assert (blocked, probed) == (["virtual_account"], ["card", "virtual_account"])
        assert shop.outcome() == ("success", "10000")
        assert not RailBlock.objects.exists()


class TestARefund:
    def refund(self, shop, reference, amount):
        return shop.api.post(
            f"/api/payments/{shop.payment.reference}/refunds", {"reference": reference, "amount": amount}
        )

    def test_is_decided_later(self, paid):
        answer = self.refund(paid, "one", 20_000)

        assert (answer.status_code, answer.json()["status"]) == (201, "pending")
        paid.let_pass(1)
        assert CardOperation.objects.get().status == "success"
        assert paid.payment.amount_refunded == 20_000

    def test_waits_for_the_one_before_it(self, paid):
        self.refund(paid, "one", 20_000)
        second = self.refund(paid, "two", 20_000)

        assert (second.status_code, second.json()["status"]) == (201, "pending")
        assert len(paid.paystack.books()["refunds"]) == 1
        paid.let_pass(1, 1, 1)

        assert set(CardOperation.objects.values_list("status", flat=True)) == {"success"}
        assert paid.charged() == AMOUNT - 40_000

    def test_whose_answer_was_lost_is_made_once(self, paid):
        paid.paystack.plan("POST /refund: cut")

        self.refund(paid, "one", 20_000)
        paid.let_pass(1, 1, 1)

        assert paid.payment.amount_refunded == 20_000
        assert paid.charged() == AMOUNT - 20_000

    @pytest.mark.parametrize("fault", ["fail 409", "refuse 409"])
    def test_after_an_error_that_is_no_definite_refusal_is_made_once(self, paid, fault, monkeypatch):
        """A refund isn't listed at once, so the first list says nothing."""
        paid.paystack.plan(f"POST /refund: {fault}")
        with monkeypatch.context() as patched:
            patched.setattr(refunds, "of_transaction", lambda *_, **__: [])
            assert self.refund(paid, "one", 20_000).json()["status"] == "pending"

        paid.let_pass(1, 1, 1)

        assert CardOperation.objects.get().status == "success"
        assert paid.charged() == AMOUNT - 20_000

    def test_that_is_delivered_twice_is_not_refused(self, paid):
        """The second delivery is refused, because the first one has refunded everything."""
        paid.paystack.plan("POST /refund: repeat")

        answer = self.refund(paid, "one", AMOUNT)
        for _ in range(2):
            paid.paystack.requery_later()

        assert answer.json()["status"] == "pending"
        assert paid.payment.amount_refunded == AMOUNT
        assert paid.charged() == 0

    @pytest.mark.parametrize("ends", [("processed", "failed"), ("failed", "processed")])
    @pytest.mark.parametrize("is_known", [True, False])
    def test_that_is_delivered_twice_and_fails_once_is_paid(self, paid, ends, is_known):
        paid.paystack.command(script={"refund": [f"pending 1 {end}" for end in ends]})
        paid.paystack.plan("POST /refund: repeat")

        self.refund(paid, "one", 20_000)
        if not is_known:
            CardOperation.objects.update(acquirer_reference="")
        paid.let_pass(1, 1, 1)

        assert paid.charged() == AMOUNT - 20_000
        paid.payment.refresh_from_db()
        assert paid.payment.amount_refunded == 20_000

    def test_that_is_paid_twice_alarms_staff(self, paid, caplog):
        paid.paystack.plan("POST /refund: repeat")
        self.refund(paid, "one", 20_000)
        CardOperation.objects.update(acquirer_reference="")

        paid.paystack.requery_later()

        assert "refund paid twice" in caplog.text

    def test_that_needs_the_payers_account_is_listed_for_staff(self, paid, admin_client):
        paid.paystack.command(script={"refund": ["pending 1 needs-attention 90 processing 1 processed"]})
        self.refund(paid, "one", 20_000)
        paid.let_pass(1)

        page = admin_client.get("/admin/payments/cardoperation/?needs=attention").content.decode()
        assert "Paystack needs the payer&#x27;s bank account" in page
        assert CardOperation.objects.needing_attention().count() == 1

        paid.let_pass(2, 10)
        assert CardOperation.objects.get().status == "success"
        assert CardOperation.objects.get().attention == ""


class TestTheAccountForARefund:
    """Staff enter the payer's account when Paystack can't refund without it."""

    ACCOUNT: ClassVar = {"account_number": "0123456789", "bank_code": "058", "reason": "Told by the payer"}

    @pytest.fixture
    def refund(self, paid):
        paid.paystack.command(script={"refund": ["pending 1 needs-attention"]})
        TestARefund.refund(self, paid, "one", 20_000)
        paid.let_pass(1)
        return CardOperation.objects.get()

    @pytest.fixture
    def staff(self, paid):
        return signed_in(
            UserFactory(email="staff@example.com", is_staff=True, is_superuser=True), client=Client()
        )

    def give(self, staff, refund, **changes):
        address = f"/admin/payments/cardoperation/{refund.pk}/give_account/"
        page = staff.post(address, self.ACCOUNT | changes, follow=True)
        refund.refresh_from_db()
        return page.content.decode()

    def holder(self, staff, refund, **changes):
        """Return the name that the page shows at first."""
        return re.search(r"belongs to <strong>([^<]+)", self.give(staff, refund, **changes))[1]

    def theirs(self, paid):
        return next(iter(paid.paystack.simulator.integration.tables.refunds.values())).status

    def test_shows_the_holder_before_anything_is_sent(self, paid, refund, staff):
        assert self.holder(staff, refund)
        assert self.theirs(paid) == "needs-attention"
        assert refund.attention

    def test_is_paid_after_the_name_was_seen(self, paid, refund, staff):
        name = self.holder(staff, refund)

        assert "The account was sent to the provider." in self.give(staff, refund, account_name=name)
        assert (refund.status, refund.attention, self.theirs(paid)) == ("pending", "", "processing")
        paid.let_pass(2, 10)
        refund.refresh_from_db()
        assert (refund.status, paid.charged()) == ("success", AMOUNT - 20_000)

    def test_of_an_unknown_holder_is_not_sent(self, paid, refund, staff):
        page = self.give(staff, refund, account_number=UNKNOWN_ACCOUNT)

        assert "The bank has no account with this number." in page
        assert self.theirs(paid) == "needs-attention"

    def test_needs_a_second_person(self, paid, refund, staff, settings):
        settings.FOUR_EYES = True
        UserFactory(email="second@example.com", is_staff=True, is_superuser=True)
        name = self.holder(staff, refund)
        self.give(staff, refund, account_name=name)
        proposal = Proposal.objects.get()

        assert self.theirs(paid) == "needs-attention"
        assert meaning_of(proposal) == (
            f"The provider pays the refund of NGN 200.00 to account 0123456789 at bank 058 of {name}."
        )
        second = signed_in(User.objects.get(email="second@example.com"), client=Client())
        second.post(f"/admin/payments/proposal/{proposal.pk}/confirm/", follow=True)
        assert self.theirs(paid) == "processing"

    @pytest.mark.parametrize("fault", ["cut", "lose_and_cut", "fail 502", "refuse 500"])
    def test_whose_answer_was_lost_is_decided_by_a_query(self, paid, refund, staff, fault):
        name = self.holder(staff, refund)
        paid.paystack.plan(f"POST /refund/retry_with_customer_details: {fault}")

        self.give(staff, refund, account_name=name)

        assert (refund.status, refund.attention) == ("pending", "")
        was_taken = self.theirs(paid) == "processing"
        paid.let_pass(2, 10)
        refund.refresh_from_db()
        assert (refund.status == "success") == was_taken
        assert bool(refund.attention) == (not was_taken)

    def test_at_a_bank_that_paystack_lacks_can_be_entered_again(self, refund, staff, monkeypatch):
        name = self.holder(staff, refund)
        monkeypatch.setattr(bank_codes, "read", lambda client, until: BankCodes())

        self.give(staff, refund, account_name=name)

        assert refund.attention.startswith("Paystack refuses the account")

    def test_that_was_given_at_paystack_already_is_not_sent_twice(self, paid, refund, staff):
        name = self.holder(staff, refund)
        found = next(iter(paid.paystack.simulator.integration.tables.refunds.values()))
        found.status = "processing"

        self.give(staff, refund, account_name=name)

        assert (refund.status, refund.attention) == ("pending", "")

    def test_is_not_sent_while_the_refund_is_queried(self, paid, refund, staff):
        name = self.holder(staff, refund)
        CardOperation.objects.update(query_leased_until=timezone.now() + timedelta(minutes=1))

        assert "Its rail is being queried." in self.give(staff, refund, account_name=name)
        assert self.theirs(paid) == "needs-attention"

    def test_is_not_taken_for_a_refund_that_needs_none(self, paid, refund, staff):
        name = self.holder(staff, refund)
        self.give(staff, refund, account_name=name)

        assert "ask for an account of this refund" in self.give(staff, refund, account_name=name)


class TestAnAmountBelowTheirMinimum:
    def link(self, paystack, **changes):
        link = paystack.api.post("/api/payment-links", orders.payment_link(**changes)).json()
        return Payer("192.0.2.1"), urlsplit(link["url"]).path

    @pytest.fixture(autouse=True)
    def low(self, paystack, settings):
        settings.LINK_MINIMUM_AMOUNT = 1_000
        settings.LINK_MINIMUM_AMOUNTS = {}

    def test_hides_the_card(self, paystack):
        payer, path = self.link(paystack, amount=4_999)

        page = payer.get(payer.begin(path)).content.decode()

        assert "Pay by bank transfer" in page
        assert "?method=card" not in page

    def test_is_refused_with_the_minimum_where_only_cards_are_taken(self, paystack):
        payer, path = self.link(paystack, amount=4_999, payment_methods=["card"])

        page = payer.get(path)

        assert page.status_code == 409
        assert "Card payments start at NGN 50.00." in page.content.decode()

    def test_that_a_payer_enters_is_refused_at_its_field(self, paystack):
        bounds = {"min": 1_000, "max": 10_000}
        payer, path = self.link(paystack, amount=..., amount_range=bounds, payment_methods=["card"])

        answer = payer.post(path, {"name": "Ada Obi", "email": "ada@example.com", "amount": "49.99"})
        assert answer.status_code == 303
        assert "Card payments start at NGN 50.00." in payer.get(answer.headers["Location"]).content.decode()


class TestTheApi:
    def test_refuses_cards_and_names_the_hosted_checkout(self, paystack):
        answer = paystack.api.post("/api/payments", orders.card_payment())

        assert (answer.status_code, answer.json()["code"]) == (400, "not_supported")
        assert {each["field"] for each in answer.json()["errors"]} >= {"source"}
        assert "hosted checkout" in str(answer.json()["errors"])

    def test_tells_what_can_be_done(self, paystack):
        found = {
            (each["flow"], each["currency"]): each
            for each in paystack.api.get("/api/capabilities").json()["data"]
        }

        cards = found["card_payment", "NGN"]
        assert cards["available"]
        assert cards["hosted_only"]
        assert (cards["captures_later"], cards["voids"], cards["minimum_amount"]) == (False, False, 5_000)
        assert cards["three_d_secure"] == "provider_decides"
        assert not found["card_check", "NGN"]["available"]
