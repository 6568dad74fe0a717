"""Every event that moves money, in any order: the books balance at each step, and the wallet is never overdrawn."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import transaction as database
from django.test import override_settings
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ledger.invariants import check
from ledger.models import Account, Posting
from ledger.services import Kind, balances
from payments.invariants import INVARIANTS
from payments.models import InvalidState, SettlementBatch, Transaction
from payments.services import captures, deactivation, payout_returns, refunds, requery, transfers, unapplied
from payments.services.operations import AmountTooLarge
from payments.services.transfers import Notice
from tests import orders
from tests.factories import BusinessFactory
from tests.settling import STAFF, decide, settle
from tests.transactions import start
from tests.undoing import begin_undone, undo
from tests.wallets import fill_wallet
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts

AMOUNTS = st.sampled_from([1, 700, 9_999, 20_005, 20_098, 250_000, 300_051, 5_000_001])
ANY = st.integers(min_value=0)  # picks one of those made so far
CURRENCIES = st.sampled_from(["NGN", "NGN", "USD"])
LOST = {"name": "Ada Obi", "account_number": "0000000097", "bank_code": "058"}

OPEN_MONEY = UnappliedMoney.objects.filter(state=UnappliedMoney.State.OPEN)
REFUSALS = (InvalidState, AmountTooLarge)


class Money(RuleBasedStateMachine):
    """Two businesses, and everybody who moves their money. What the wallets must hold is counted beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.undone = begin_undone()
        self.covered = override_settings(PAYOUT_REQUIRES_BALANCE=True)
        self.covered.enable()
        self.real_now, timezone.now = timezone.now, self.tick
        self.business, self.other = BusinessFactory(), BusinessFactory()

    def teardown(self) -> None:
        timezone.now = self.real_now
        self.covered.disable()
        undo(self.undone)

    def tick(self) -> datetime:
        self.clock += timedelta(milliseconds=1)
        return self.clock

    @initialize()
    def begin(self) -> None:
        fill_wallet(self.business, 400_000)
        request = read_account(orders.static_account(), business=self.business)
        self.closed = accounts.create(business=self.business, request=request, now=self.tick()).resource
        deactivation.deactivate(self.closed.pk, now=self.tick())
        start(orders.card_payment(), business=self.other, now=self.tick())

    @rule(amount=AMOUNTS, currency=CURRENCIES, way=st.sampled_from([{}, {"capture": False}]))
    def take_a_card_payment(self, amount: int, currency: str, way: dict[str, bool]) -> None:
        order = orders.card_payment(amount=amount, currency=currency, **way)
        start(order, business=self.business, now=self.tick())

    @rule(which=ANY, part=st.sampled_from([None, 1, 500]))
    def capture(self, which: int, part: int | None) -> None:
        self.attempt(which, lambda pk: captures.capture(transaction_id=pk, amount=part, now=self.tick()))

    @rule(which=ANY, part=st.sampled_from([None, None, 1, 500, 10_005, 10_098]))
    def refund(self, which: int, part: int | None) -> None:
        request = {"reference": orders.new_reference("rf"), **({"amount": part} if part else {})}
        self.attempt(
            which,
            lambda pk: refunds.refund(
                transaction=Transaction.objects.select_related("business").get(pk=pk),
                request=request,
                now=self.tick(),
            ),
        )

    @rule(amount=AMOUNTS, currency=CURRENCIES, way=st.sampled_from([{}, {"customer": LOST}]))
    def pay_out(self, amount: int, currency: str, way: dict[str, object]) -> None:
        order = orders.payout(amount=amount, currency=currency, **way)
        start(order, business=self.business, now=self.tick())

    @rule()
    def ask_again(self) -> None:
        for _ in requery.ask(requery.unanswered(), clock=self.tick):
            pass

    @rule(which=ANY)
    def reverse(self, which: int) -> None:
        self.attempt(
            which,
            lambda pk: payout_returns.reverse(
                transaction_id=pk, reason="Returned", actor=STAFF, now=self.tick()
            ),
        )

    @rule()
    def settle_the_day(self) -> None:
        settle()

    @precondition(lambda self: SettlementBatch.objects.exclude(state="released").exists())
    @rule(which=ANY, decision=st.sampled_from(["approve", "release", "release", "reject"]))
    def decide(self, which: int, decision: str) -> None:
        open_batches = SettlementBatch.objects.exclude(state="released").order_by("id")
        try:
            with database.atomic():
                decide(open_batches[which % len(open_batches)], decision)
        except InvalidState:
            pass

    @rule(amount=AMOUNTS)
    def top_up(self, amount: int) -> None:
        fill_wallet(self.business, amount)

    @rule(amount=AMOUNTS)
    def receive_money_that_fits_nothing(self, amount: int) -> None:
        told = Notice(
            bank_reference=uuid4().hex,
            account_number=self.closed.account_number,
            amount=amount,
            currency="NGN",
            sender_name="Chidi Eze",
            sender_account_number="0123456789",
            sender_bank_code="058",
        )
        assert transfers.receive(told, clock=self.tick).transfer.is_unapplied
        assert not transfers.receive(told, clock=self.tick).is_new

    @precondition(lambda self: OPEN_MONEY.exists())
    @rule(which=ANY, decide_so=st.sampled_from([unapplied.credit, unapplied.return_to_sender]))
    def decide_about_money_that_fits_nothing(self, which: int, decide_so: Callable[..., object]) -> None:
        waiting = OPEN_MONEY.order_by("id")
        decide_so(waiting[which % len(waiting)].pk, reason="Found its owner", actor=STAFF, now=self.tick())

    def attempt(self, which: int, act) -> None:
        """Do something to one of the transactions; a refusal must book nothing."""
        every = Transaction.objects.filter(business=self.business).order_by("id").values_list("pk", flat=True)
        if not every:
            return
        before = Posting.objects.count()
        try:
            act(every[which % len(every)])
        except REFUSALS:
            assert Posting.objects.count() == before

    @invariant()
    def every_entry_sums_to_zero_and_every_wallet_to_its_postings(self) -> None:
        entries: Counter[int] = Counter()
        accounts: Counter[int] = Counter()
        for posting in Posting.objects.order_by("id"):
            entries[posting.entry_id] += posting.amount
            accounts[posting.account_id] += posting.amount
        assert not any(entries.values())
        for account in Account.objects.all():
            assert account.balance == accounts[account.pk]

    @invariant()
    def no_wallet_is_overdrawn(self) -> None:
        assert all(balance.available >= 0 for balance in balances(self.business))

    @invariant()
    def no_more_is_paid_out_than_was_credited(self) -> None:
        for currency in ("NGN", "USD"):
            wallet = Posting.objects.filter(
                account__business=self.business, account__kind=Kind.WALLET, account__currency=currency
            )
            amounts = list(wallet.values_list("amount", "entry__kind"))
            credited = sum(amount for amount, _ in amounts if amount > 0)
            paid_out = sum(-amount for amount, kind in amounts if kind == "payout_accepted")
            assert paid_out <= credited

    @invariant()
    def every_rule_of_check_ledger_holds(self) -> None:
        assert [(one.invariant.name, one.broken) for one in check(INVARIANTS) if not one.holds] == []


@pytest.mark.long
@pytest.mark.django_db
class TestMoney:
    def test_adds_up_whatever_happens_in_whatever_order(self):
        run_state_machine_as_test(
            Money,
            settings=settings(
                max_examples=20,
                stateful_step_count=25,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
