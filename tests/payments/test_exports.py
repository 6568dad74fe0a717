"""The rows that members export sum to what the ledger moved, after any sequence of events."""

import os
from collections.abc import Callable

import pytest
from django.test import override_settings
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rest_framework.exceptions import ValidationError

from ledger.models import Account, Posting
from ledger.services import Kind
from merchants.models import Business
from payments.models import InvalidState, Transaction
from payments.services.payouts import payout_returns
from payments.services.refunds import refunds
from payments.services.transfers import incoming, unapplied_decisions
from payments.services.transfers.incoming import Notice
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import BusinessFactory, MemberFactory
from tests.payments import exported_amounts
from tests.settling import STAFF, decide, settle
from tests.transactions import start
from tests.unapplied import mismatched_money
from tests.undoing import begin_undone, undo
from tests.wallets import fill_wallet
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts

EXAMPLES = int(os.environ.get("MONEY_EXAMPLES", "8"))
CURRENCIES = ["NGN", "JPY", "KWD"]  # 2, 0 and 3 decimals
REFUSALS = (InvalidState, refunds.AmountTooLarge, ValidationError)
SENDER = {"sender_name": "Chidi Eze", "sender_account_number": "0123456789", "sender_bank_code": "058"}


def charge(business: Business, amount: int) -> None:
    for currency in CURRENCIES:
        start(orders.card_payment(amount=amount, currency=currency), business=business, now=timezone.now())


def receive_transfer(business: Business, amount: int) -> None:
    wanted = read_account(orders.dynamic_account(), business=business)
    account = accounts.create(business=business, request=wanted, now=timezone.now()).resource
    payment = start(
        orders.transfer_payment(str(account.pk), amount=amount), business=business, now=timezone.now()
    )
    payment.refresh_from_db()
    number = payment.session.number_id
    incoming.receive(
        Notice(bank_reference=orders.new_reference("bank"), account_number=number, amount=amount, **SENDER)
    )


def refund(business: Business, amount: int) -> None:
    """Refund a part of every payment that has so much left."""
    for payment in Transaction.objects.filter(business=business, request_type="payment", status="success"):
        request = {"reference": orders.new_reference("rf"), "amount": amount}
        try:
            refunds.refund(transaction=payment, request=request, now=timezone.now())
        except REFUSALS:
            continue


def release(business: Business, amount: int) -> None:
    decide_all("approve", "release")


def reject(business: Business, amount: int) -> None:
    decide_all("reject")


def decide_all(*decisions: str) -> None:
    for batch in settle():
        decide(batch, *decisions)


def pay_out(business: Business, amount: int) -> None:
    start(orders.payout(amount=amount), business=business, now=timezone.now())


def return_payouts(business: Business, amount: int) -> None:
    for payout in Transaction.objects.filter(business=business, request_type="payout", status="success"):
        payout_returns.reverse(transaction_id=payout.pk, reason="Returned", actor=STAFF, now=timezone.now())


def receive_unapplied(business: Business, amount: int) -> None:
    mismatched_money(business=business, now=timezone.now())


def credit_unapplied(business: Business, amount: int) -> None:
    money = mismatched_money(business=business, now=timezone.now())
    unapplied_decisions.credit(money.pk, reason="Theirs", actor=STAFF, now=timezone.now())


EVENTS = [
    charge, receive_transfer, refund, release, reject, pay_out, return_payouts, receive_unapplied, credit_unapplied,
]  # fmt: skip
AMOUNTS = st.sampled_from([1, 700, 9_999, 20_005, 20_098, 250_000])  # 05 fails, 98 stays unanswered
SEQUENCES = st.lists(st.tuples(st.sampled_from(EVENTS), AMOUNTS), max_size=8)


@pytest.fixture
def without_rate_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merchants.api.rate_limits.EXPORTS", 1_000_000)


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.usefixtures("without_rate_limit")
class TestExports:
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(sequence=SEQUENCES)
    @example(
        sequence=[
            (charge, 250_000),
            (receive_transfer, 250_000),
            (release, 0),
            (refund, 700),
            (charge, 9_999),
            (release, 0),
            (pay_out, 700),
        ]
    )
    def test_sum_to_the_movements_of_the_ledger(
        self, sequence: list[tuple[Callable[[Business, int], None], int]]
    ) -> None:
        undone = begin_undone()
        try:
            business = BusinessFactory(currencies=CURRENCIES)
            fill_wallet(business, 400_000)
            with override_settings(PAYOUT_REQUIRES_BALANCE=True):
                for event, amount in sequence:
                    event(business, amount)

            browser = signed_in(MemberFactory(business=business).user)
            settled = exported_amounts.settled(browser)
            earned, sent = exported_amounts.earned(browser), exported_amounts.sent(browser)
            unapplied = exported_amounts.unapplied(browser)
            for currency in CURRENCIES:
                held = balances_of(business, currency)
                assert exported_amounts.wallet(browser, currency) == held[Kind.WALLET]
                assert earned[currency] - settled[currency] == held[Kind.PENDING_SETTLEMENT]
                assert unapplied[currency] == held[Kind.UNAPPLIED]
                assert settled[currency] == moved(business, "settlement_released", Kind.WALLET, currency)
                assert sent[currency] == -moved(business, "payout_sent", Kind.PAYOUTS_IN_FLIGHT, currency)
        finally:
            undo(undone)


def balances_of(business: Business, currency: str) -> dict[str, int]:
    held = Account.objects.filter(business=business, currency=currency).values_list("kind", "balance")
    return dict.fromkeys(Kind, 0) | dict(held)


def moved(business: Business, by: str, kind: Kind, currency: str) -> int:
    """Return the sum that entries of one kind posted to an account of the business."""
    postings = Posting.objects.filter(
        entry__kind=by, account__business=business, account__kind=kind, account__currency=currency
    )
    return sum(postings.values_list("amount", flat=True))
