"""Refunds by bank transfer are covered where payouts are: by the wallet and the payment's own unreleased money."""

import contextlib
from functools import partial

import pytest
from django.db import connection
from django.utils import timezone

from ledger import services as ledger
from ledger.invariants import check
from ledger.services import balances
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, Transaction
from payments.services.refunds import refunds
from tests import orders
from tests.payments.services.test_transfer_refunds import SENDER, paid_by_transfer
from tests.racing import racers
from tests.refunds import ask_for_refund, pay, refunded_amounts
from tests.settling import decide, settle
from tests.transactions import start
from tests.wallets import fill_wallet

LOST_ACCOUNT = SENDER | {"sender_account_number": "0000000097"}  # its bank's answers are lost


@pytest.fixture(autouse=True)
def _covered(settings):
    settings.PAYOUT_REQUIRES_BALANCE = True


def refused(answer):
    return (answer.status_code, answer.json().get("code")) == (409, "insufficient_funds")


def broken():
    return {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds}


def key(row):
    return row.pk if connection.vendor == "postgresql" else row.pk.hex


def released(api, amount=50_000, **sender):
    payment = paid_by_transfer(api, amount, **SENDER | sender)
    decide(*settle(), "approve", "release")
    return payment


@pytest.mark.django_db
class TestRefund:
    def test_of_an_unreleased_payment_is_covered_by_its_own_money(self, api):
        payment = paid_by_transfer(api, **SENDER)

        assert ask_for_refund(api, payment).status_code == 201

    def test_of_a_released_payment_is_refused_if_the_wallet_is_empty(self, api, ada):
        payment = released(api)
        start(orders.payout(amount=48_500), business=ada.business, now=timezone.now())

        answer = ask_for_refund(api, payment)

        assert refused(answer)
        assert CardOperation.objects.count() == 0
        assert refunded_amounts(api, payment) == ("none", 0, 50_000)

    def test_of_a_released_payment_is_covered_by_the_wallet(self, api, ada):
        payment = released(api)
        fill_wallet(ada.business, 500)

        assert ask_for_refund(api, payment).status_code == 201
        assert broken() == {}

    def test_is_not_covered_by_other_payments(self, api, ada):
        payment = released(api)
        start(orders.payout(amount=48_500), business=ada.business, now=timezone.now())
        paid_by_transfer(api, 1_000_000, **SENDER)

        assert refused(ask_for_refund(api, payment))

    def test_is_not_covered_by_its_own_money_that_another_refund_took(self, api, ada):
        other = released(api)
        payment = paid_by_transfer(api, **SENDER)
        assert ask_for_refund(api, other, amount=48_500).status_code == 201  # by the wallet
        start(orders.payout(amount=48_500), business=ada.business, now=timezone.now())

        assert refused(ask_for_refund(api, payment))

    def test_of_the_rest_of_an_unreleased_payment_is_covered(self, api):
        payment = paid_by_transfer(api, **SENDER)

        assert ask_for_refund(api, payment, amount=49_500).status_code == 201
        assert ask_for_refund(api, payment, amount=500).status_code == 201
        assert broken() == {}

    def test_that_is_pending_is_reserved(self, api, ada):
        """Of the wallet's money, the first refund takes all, though the bank hasn't answered."""
        payment = released(api, **LOST_ACCOUNT)
        assert ask_for_refund(api, payment, amount=40_000).json()["status"] == "pending"

        payout = start(orders.payout(amount=20_000), business=ada.business, now=timezone.now())

        assert refused(ask_for_refund(api, payment, amount=10_000))
        assert (payout.status, payout.response_code) == ("failed", "20051")

    def test_to_a_card_needs_no_cover(self, api, ada):
        payment = pay(api)
        decide(*settle(), "approve", "release")
        start(orders.payout(amount=20_000), business=ada.business, now=timezone.now())

        assert ask_for_refund(api, f"/api/payments/{payment}").status_code == 201

    def test_needs_no_cover_where_payouts_need_none(self, api, ada, settings):
        settings.PAYOUT_REQUIRES_BALANCE = False
        payment = released(api)
        start(orders.payout(amount=48_500), business=ada.business, now=timezone.now())

        assert ask_for_refund(api, payment).status_code == 201


@pytest.mark.django_db
class TestCheckLedger:
    """What was accepted without cover is found, though the service that accepts it took it for covered."""

    @pytest.fixture
    def _blind(self, monkeypatch):
        monkeypatch.setattr(ledger, "covering_now", lambda *_args, **_options: 10**12)

    def test_finds_a_refund_whose_money_another_refund_took(self, api, ada, request):
        other = released(api)
        payment = paid_by_transfer(api, **SENDER)
        assert ask_for_refund(api, other, amount=48_500).status_code == 201
        start(orders.payout(amount=48_500), business=ada.business, now=timezone.now())
        request.getfixturevalue("_blind")

        assert ask_for_refund(api, payment).status_code == 201

        assert list(broken()) == ["covered_refunds_were_covered"]

    @pytest.mark.usefixtures("_blind")
    def test_finds_a_payout(self, ada):
        payout = start(orders.payout(amount=20_000), business=ada.business, now=timezone.now())

        assert payout.status == "success"
        assert list(broken()) == ["covered_payouts_were_covered"]

    def test_finds_a_refund(self, api, ada, request):
        payment = released(api)
        start(orders.payout(amount=48_500), business=ada.business, now=timezone.now())
        paid_by_transfer(api, 1_000_000, **SENDER)  # which may not cover it
        request.getfixturevalue("_blind")

        assert ask_for_refund(api, payment, amount=501).status_code == 201

        refund = CardOperation.objects.get()
        found = f"refund {key(refund)}: 0 in the wallet, pending 990000"
        assert broken() == {"covered_refunds_were_covered": [found]}

    def test_finds_a_refund_of_a_payment_that_was_paid_out(self, api, ada, request):
        """A pending one, whose answer is lost."""
        payment = released(api, **LOST_ACCOUNT)
        request.getfixturevalue("_blind")
        start(orders.payout(amount=48_500), business=ada.business, now=timezone.now())

        assert ask_for_refund(api, payment).json()["status"] == "pending"

        assert list(broken()) == ["covered_refunds_were_covered"]


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
class TestRace:
    def test_of_refunds_and_payouts_never_overdraws(self, api, ada):
        """Tests the locks of `ledger.services.covering_now`."""
        payments = [released(api, 100_000, **SENDER).rpartition("/")[2] for _ in range(4)]
        start(orders.payout(amount=250_000), business=ada.business, now=timezone.now())
        [before] = [one for one in balances(ada.business) if one.currency == "NGN"]
        rows = Transaction.objects.filter(reference__in=payments)

        def refund(row):
            request = {"reference": orders.new_reference("rf"), "amount": 60_000}
            with contextlib.suppress(refunds.refund_cover.InsufficientFunds):
                refunds.refund(transaction=row, request=request, now=timezone.now())

        def pay_out():
            start(orders.payout(amount=60_000), business=ada.business, now=timezone.now())

        with racers(8) as threads:
            threads.race(*[partial(refund, row) for row in rows], *[pay_out] * 4)

        [after] = [one for one in balances(ada.business) if one.currency == "NGN"]
        assert before.available_for_payouts > 60_000
        assert after.available + min(after.pending, 0) >= 0
        assert broken() == {}
