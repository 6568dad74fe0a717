"""All events that move money, in any order: the ledger always balances, and no wallet is overdrawn.

MONEY_EXAMPLES=2000 runs the long variant.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import product
from uuid import UUID, uuid4

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ValidationError as InvalidSettings
from django.test import override_settings
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from rest_framework.exceptions import ValidationError

from cash.models import Break, Match
from disputes.models import Dispute, DisputeReport
from kit.api.errors import Problem
from kit.db import clock as clocks
from ledger.invariants import check
from ledger.models import Account, Posting
from ledger.services import Kind, balances
from merchants.models import User
from payments.invariants.cash import expected_lines
from payments.invariants.registry import INVARIANTS
from payments.models import (
    AccountDeclaration,
    CardOperation,
    Debt,
    InvalidState,
    Journal,
    PayoutApproval,
    PayoutApprovalGrant,
    PayoutControlsChange,
    PayoutReturn,
    Proposal,
    ReserveHold,
    SettlementBatch,
    Tariff,
    Transaction,
    Transition,
)
from payments.rails.sandbox import SandboxAcquirer, SandboxBank
from payments.rules.fees import Flow, default_rule
from payments.rules.words.dispute_words import OPEN
from payments.services import fee_rules, return_matching
from payments.services.cards import captures, challenges
from payments.services.payouts import payout_returns
from payments.services.payouts.payout_returns import ReturnNotice
from payments.services.rails import requery
from payments.services.rails.declared_accounts import cached_declarations
from payments.services.refunds import refunds
from payments.services.settlement import debts, reserves
from payments.services.settlement.batches import batch_decisions
from payments.services.staff import four_eyes, staff_actions
from payments.services.staff.actions import (
    account_declarations,
    debt_collection,
    journal_actions,
    suspense_actions,
)
from payments.services.staff.staff_action import StaffAction
from payments.services.transactions import cancellations, expiry
from payments.services.transfers import account_deactivation, incoming
from payments.services.transfers.incoming import Notice
from payout_batches.models import PayoutBatch, PayoutBatchItem
from tests import orders
from tests.factories import BusinessFactory, UserFactory
from tests.payments.cash_rules import FAULTS, CashRules
from tests.payments.dispute_rules import DISPUTE_FEES, DisputeRules
from tests.payments.expected_balances import ExpectedBalances
from tests.payments.payout_rules import PayoutRules
from tests.reserves import agree
from tests.settling import STAFF, settle
from tests.state_machines import run_machine
from tests.transactions import enter_code, start
from tests.undoing import begin_undone, undo
from tests.wallets import fill_wallet
from virtual_accounts.models import Session, Transfer, UnappliedMoney, UnclaimedTransfer, VirtualAccount
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts

EXAMPLES = int(os.environ.get("MONEY_EXAMPLES", "5"))

AMOUNTS = st.sampled_from([1, 700, 9_999, 20_005, 20_098, 250_000, 300_051, 5_000_001])
PARTS = st.sampled_from([None, None, 1, 500, 10_005, 10_098])
ANY = st.integers(min_value=0)  # picks one of the existing ones
CURRENCIES = ["NGN", "USD", "JPY", "KWD"]  # 2, 2, 0 and 3 decimals
CURRENCY = st.sampled_from([*CURRENCIES, "NGN", "NGN"])
WAITS = st.sampled_from([timedelta(minutes=2), timedelta(hours=1), timedelta(days=4), timedelta(days=8)])
WAYS = st.sampled_from([{}, {}, {"capture": False}, {"three_ds": {"enabled": True}}])
LOST = {"name": "Ada Obi", "account_number": "0000000097", "bank_code": "058"}
DESTINATION = LOST | {"account_number": "0123456789"}
UNKNOWN_NUMBER = "0123456789"  # never assigned to an account
SENDER = {"sender_account_number": "0123456789", "sender_bank_code": "058"}

# Lines of statements are expected by the database's time, which is months after the machine's: CashRules checks them.
AT_ANY_TIME = [one for one in INVARIANTS if one not in expected_lines.INVARIANTS]

# Allowed refusals of an action. A refused action must change nothing.
REFUSALS = (Problem, ValidationError, InvalidSettings, challenges.ChallengeClosed, challenges.WrongInput)


class Money(PayoutRules, CashRules, DisputeRules):
    """Two businesses and all events that move their money. The expected balances are computed separately."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.undone = begin_undone()
        self.settings = override_settings()
        self.settings.enable()
        self.switch_four_eyes_to(is_on=False)
        self.real_clocks = timezone.now, clocks._ask_database
        timezone.now = clocks._ask_database = self.tick
        self.final: dict[object, object] = {}
        self.notices: list[ReturnNotice] = []
        self.proposed: dict[UUID, str] = {}  # what the transaction of each proposed resolution awaited
        self.business = BusinessFactory(currencies=CURRENCIES)
        self.other = BusinessFactory()
        self.expected = ExpectedBalances(self.business)
        self.first, self.second = (UserFactory(is_staff=True, is_superuser=True) for _ in range(2))

    def teardown(self) -> None:
        configure_account("sandbox")
        timezone.now, clocks._ask_database = self.real_clocks
        self.settings.disable()
        undo(self.undone)

    def tick(self) -> datetime:
        self.clock += timedelta(milliseconds=1)
        cached_declarations.cache_clear()  # nothing commits here
        return self.clock

    def tax_fees(self) -> None:
        """Agree a tax on the default fees in NGN."""
        for business, flow in product((self.business, self.other), ("card", "virtual_account", "payout")):
            terms = default_rule(Flow(flow), "NGN").snapshot | {"tax_basis_points": 750}
            tariff = Tariff(business=business, flow=flow, currency="NGN", **terms)
            fee_rules.agree(tariff, actor=STAFF, now=self.tick())

    @initialize()
    def begin(self) -> None:
        self.tax_fees()
        self.begin_payouts()
        self.begin_cash()
        self.begin_disputes()
        fill_wallet(self.business, 400_000, bank_account=self.bank)
        self.expected.topped_up["NGN"] += 400_000
        self.dynamic = {one: self.open_account(orders.dynamic_account(currency=one)) for one in CURRENCIES}
        self.static = self.open_account(orders.static_account())
        self.closed = self.open_account(orders.static_account())
        account_deactivation.deactivate(self.closed.pk, now=self.tick())
        start(orders.card_payment(), business=self.other, now=self.tick())

    def open_account(self, order: dict[str, object]) -> VirtualAccount:
        request = read_account(order, business=self.business)
        return accounts.create(business=self.business, request=request, now=self.tick()).resource

    # Card payments

    @rule(amount=AMOUNTS, currency=CURRENCY, way=WAYS)
    def take_a_card_payment(self, amount: int, currency: str, way: dict[str, object]) -> None:
        order = orders.card_payment(amount=amount, currency=currency, **way)
        start(order, business=self.business, now=self.tick())

    @rule(which=ANY, part=st.sampled_from([None, 1, 500]))
    def capture(self, which: int, part: int | None) -> None:
        self.attempt(which, lambda one: captures.capture(transaction_id=one.pk, amount=part, now=self.tick()))

    @rule(which=ANY)
    def void(self, which: int) -> None:
        self.attempt(which, lambda one: captures.void(transaction_id=one.pk, now=self.tick()))

    @rule(which=ANY, code=st.sampled_from(["123456", "123456", "000000"]))
    def answer_the_challenge(self, which: int, code: str) -> None:
        def answer(payment: Transaction) -> None:
            challenge = getattr(payment, "challenge", None)
            if challenge is not None:
                enter_code(challenge=challenge, code=code, now=self.tick())

        self.attempt(which, answer)

    @rule(which=ANY)
    def cancel(self, which: int) -> None:
        self.attempt(which, lambda one: cancellations.cancel(transaction_id=one.pk, clock=self.tick))

    @rule(which=ANY, part=PARTS, to=st.sampled_from([None, None, DESTINATION, LOST]))
    def refund(self, which: int, part: int | None, to: dict[str, str] | None) -> None:
        """Refund to the card or the sender, or to the account in the request."""
        named = {"amount": part, "destination": to}
        request = {"reference": orders.new_reference("rf")} | {k: v for k, v in named.items() if v}
        self.attempt(
            which, lambda one: refunds.refund(transaction=one, request=dict(request), now=self.tick())
        )

    @precondition(lambda self: self.transfer_payments())
    @rule(which=ANY, part=st.sampled_from([1, 500, 250_000]), to=st.sampled_from([DESTINATION, LOST]))
    def refund_a_transfer(self, which: int, part: int, to: dict[str, str]) -> None:
        """A refund by bank transfer is accepted exactly if the balance and the payment's own money cover it.

        While payouts are frozen, none goes to an account that the request names.
        """
        payments = self.transfer_payments()
        payment = payments[which % len(payments)]
        named = (
            {}
            if Transfer.objects.get(session=payment.session_id).sender_account_number
            else {"destination": to}
        )
        request = {"reference": orders.new_reference("rf"), "amount": part, **named}
        is_stopped = bool(named) and self.controls().frozen_at is not None
        is_possible = part <= payment.amount_refundable
        is_covered = self.expected.covers_refund(payment, part)
        is_accepted = self.refusable(
            lambda: refunds.refund(transaction=payment, request=request, now=self.tick())
        )
        assert is_accepted == (is_possible and is_covered and not is_stopped)

    def transfer_payments(self) -> list[Transaction]:
        paid = Transaction.objects.filter(
            business=self.business, method="virtual_account", status="success", currency="NGN"
        )
        return list(paid.select_related("business", "session").order_by("id"))

    # Transfers

    @rule(amount=AMOUNTS, currency=CURRENCY, is_static=st.booleans())
    def ask_for_a_transfer(self, amount: int, currency: str, *, is_static: bool) -> None:
        account = self.static if is_static else self.dynamic[currency]
        order = orders.transfer_payment(str(account.pk), amount=amount, currency=account.currency)
        try:
            start(order, business=self.business, now=self.tick())
        except InvalidState:
            assert is_static

    @precondition(lambda self: Session.objects.exists())
    @rule(which=ANY, off=st.sampled_from([0, 0, 0, 1, 10_000]), sender=st.sampled_from([{}, SENDER]))
    def transfer_into_a_session(self, which: int, off: int, sender: dict[str, str]) -> None:
        """Transfer the exact amount or more into an open or finished session."""
        sessions = Session.objects.select_related("account").order_by("pk")
        session = sessions[which % len(sessions)]
        self.receive(session.number_id, session.expected_amount + off, sender=sender)

    @rule(amount=AMOUNTS, is_closed=st.booleans(), currency=st.sampled_from(["", "", "NGN", "USD"]))
    def transfer_without_a_session(self, amount: int, currency: str, *, is_closed: bool) -> None:
        account = self.closed if is_closed else self.static
        self.receive(account.account_number, amount, currency=currency, sender=SENDER)

    def receive(self, number: str, amount: int, *, sender: dict[str, str], currency: str = "") -> None:
        notice = Notice(
            bank_reference=uuid4().hex,
            account_number=number,
            amount=amount,
            currency=currency,
            sender_name="Chidi Eze",
            **sender,
        )
        assert not incoming.receive(notice, clock=self.tick).is_replay
        assert incoming.receive(notice, clock=self.tick).is_replay

    @precondition(lambda self: UnappliedMoney.objects.filter(state="open").exists())
    @rule(
        which=ANY, kind=st.sampled_from([Proposal.Action.CREDIT_UNAPPLIED, Proposal.Action.RETURN_UNAPPLIED])
    )
    def decide_about_unapplied_money(self, which: int, kind: Proposal.Action) -> None:
        waiting = UnappliedMoney.objects.filter(state="open").order_by("id")
        money = waiting[which % len(waiting)]
        self.submit(lambda: staff_actions.unapplied_decision(money, kind, reason="Found its owner"))

    # Money of an unknown owner

    @rule(amount=st.sampled_from([700, 250_000, 2**63 - 1]), currency=CURRENCY, is_repeated=st.booleans())
    def transfer_to_an_unknown_number(self, amount: int, currency: str, *, is_repeated: bool) -> None:
        notice = Notice(
            bank_reference=uuid4().hex,
            account_number=UNKNOWN_NUMBER,
            amount=amount,
            currency=currency,
            sender_name="Chidi Eze",
            **SENDER,
        )
        for is_replay in (False, True) if is_repeated else (False,):
            received = incoming.receive_notification(notice, clock=self.tick)
            assert (received.is_replay, received.resource.applied) == (is_replay, "unclaimed")

    @rule(amount=AMOUNTS, currency=CURRENCY)
    def return_an_unknown_payout(self, amount: int, currency: str) -> None:
        notice = ReturnNotice(
            bank_reference=uuid4().hex, payout_reference="unknown", amount=amount, currency=currency
        )
        assert payout_returns.receive(notice, clock=self.tick).resource.why == "unknown_payout"
        self.notices.append(notice)

    @precondition(lambda self: open_suspense())
    @rule(which=ANY, payout=ANY, is_written_off=st.booleans())
    def decide_about_suspense(self, which: int, payout: int, *, is_written_off: bool) -> None:
        money = open_suspense()[which % len(open_suspense())]
        if is_written_off:
            self.submit(lambda: suspense_actions.write_off(money, reason="The bank took it back"))
        elif isinstance(money, UnclaimedTransfer):
            number = self.static.account_number
            self.submit(lambda: suspense_actions.assignment(money, account_number=number, reason="Theirs"))
        else:
            self.attempt(
                payout,
                lambda one: self.submit(
                    lambda: suspense_actions.return_match(money, one, reason="Its payout")
                ),
            )

    # Payouts

    @rule(amount=AMOUNTS, way=st.sampled_from([{}, {}, {"customer": LOST}]))
    def pay_out(self, amount: int, way: dict[str, object]) -> None:
        is_covered = self.expected.covers(amount, "NGN")
        payout = self.order_payout(amount, way)
        if payout is None:
            return
        assert (payout.response_code == "20051") == (not is_covered)
        assert payout.response_code != "20051" or payout.response_summary == "Payment failed"

    @rule(which=ANY, part=st.sampled_from([None, None, 1, 300, 10_000_000]), currency=CURRENCY)
    def return_a_payout(self, which: int, part: int | None, currency: str) -> None:
        """The bank returns a payout: in full, in part, too much, or in another currency."""

        def receive(payout: Transaction) -> None:
            notice = ReturnNotice(
                bank_reference=uuid4().hex,
                payout_reference=str(payout.pk),
                amount=part or payout.amount,
                currency=currency,
                reason="Account closed",
            )
            assert not payout_returns.receive(notice, clock=self.tick).is_replay
            self.notices.append(notice)

        self.attempt(which, receive)

    @precondition(lambda self: self.notices)
    @rule(which=ANY)
    def repeat_a_return(self, which: int) -> None:
        again = payout_returns.receive(self.notices[which % len(self.notices)], clock=self.tick)
        assert again.is_replay

    @rule(which=ANY)
    def reverse(self, which: int) -> None:
        self.attempt(
            which, lambda one: self.submit(lambda: staff_actions.payout_reversal(one, reason="Returned"))
        )

    # Unknown outcomes and time

    @rule()
    def requery_everything(self) -> None:
        """What was sent to another account stays unanswered."""
        waiting = [one for one in requery.unanswered() if self.waits(one)]
        for _ in requery.query_leased(requery.unanswered(), clock=self.tick):
            pass
        return_matching.match_ended()
        still = {one.pk for one in requery.unanswered()}
        assert still.issuperset(one.pk for one in waiting)

    def waits(self, subject: Transaction | CardOperation) -> bool:
        sent = subject if subject.connector else subject.transaction
        here = SandboxBank.account
        return sent.account != here and not AccountDeclaration.objects.exists()

    @rule(account=st.sampled_from(["sandbox", "sandbox", "sandbox:moved"]))
    def configure_an_account(self, account: str) -> None:
        """Point the connectors at another account, or back."""
        configure_account(account)

    @rule(account=st.sampled_from(["sandbox", "sandbox:moved"]))
    def declare_the_same_account(self, account: str) -> None:
        self.submit(
            lambda: account_declarations.declaration(connector="sandbox", former=account, reason="Moved")
        )

    @precondition(lambda self: requery.unanswered())
    @rule(which=ANY, succeeded=st.booleans())
    def resolve_an_unknown(self, which: int, *, succeeded: bool) -> None:
        unknown = sorted(requery.unanswered(), key=lambda one: one.pk)
        subject = unknown[which % len(unknown)]
        self.submit(
            lambda: staff_actions.resolution(
                subject, succeeded=succeeded, reason="Bank confirmed", evidence="Statement, line 7"
            )
        )

    @rule(parts=st.lists(st.sampled_from([1, 300, 9_999]), min_size=1, max_size=3), succeeded=st.booleans())
    def return_a_payout_early(self, parts: list[int], *, succeeded: bool) -> None:
        """The bank returns parts of a payout before its outcome is known."""
        payout = self.order_payout(10_000, {"customer": LOST})
        if payout is None:
            return
        for part in parts if payout.status == "pending" else ():
            notice = ReturnNotice(
                bank_reference=uuid4().hex, payout_reference=payout.pk.hex, amount=part, currency="NGN"
            )
            payout_returns.receive(notice, clock=self.tick)
        if payout.status == "pending":
            self.submit(
                lambda: staff_actions.resolution(
                    payout, succeeded=succeeded, reason="Bank confirmed", evidence="Statement, line 7"
                )
            )

    @rule(succeeded=st.booleans(), is_given_up=st.booleans())
    def propose_an_outcome(self, *, succeeded: bool, is_given_up: bool) -> None:
        """Propose the outcome of a charge whose answer was lost. Once it is reversed, the outcome means something else."""
        payment = start(orders.card_payment(amount=20_098), business=self.business, now=self.tick())
        with override_settings(FOUR_EYES=True):
            self.submit(
                lambda: staff_actions.resolution(
                    payment, succeeded=succeeded, reason="Mail", evidence="Line 7"
                )
            )
        self.clock += timedelta(minutes=2)  # until the process that waits for the answer has lost its lease
        if is_given_up:
            now = self.tick()
            payment.await_reversal(query_at=now, cause=Transition.Cause.REQUERY, now=now)
        self.confirm(which=-1, is_second=True)  # the newest one

    @rule(wait=WAITS)
    def let_time_pass(self, wait: timedelta) -> None:
        self.clock += wait
        for _ in expiry.expire(expiry.overdue(now=self.tick()), clock=self.tick):
            pass
        for _ in expiry.expire_sessions(clock=self.tick):
            pass

    # Settlement

    @rule()
    def settle_the_day(self) -> None:
        settle()

    @precondition(lambda self: SettlementBatch.objects.exclude(state="released").exists())
    @rule(which=ANY, decision=st.sampled_from(["approve", "release", "release", "reject"]))
    def decide_about_a_batch(self, which: int, decision: str) -> None:
        open_batches = SettlementBatch.objects.exclude(state="released").order_by("id")
        batch = open_batches[which % len(open_batches)]
        if decision == "reject":
            self.refusable(
                lambda: batch_decisions.reject(batch.pk, reason="Wrong", actor=STAFF, now=self.tick())
            )
        else:
            kind = Proposal.Action(f"{decision}_batch")
            self.submit(lambda: staff_actions.batch_decision(batch, kind, reason="Bank paid"))

    @precondition(lambda self: SettlementBatch.objects.filter(state="pending").exists())
    @rule(which=ANY, arriving=st.lists(FAULTS, max_size=2), is_exception=st.booleans())
    def approve_where_money_must_arrive(self, which: int, arriving: list[str], *, is_exception: bool) -> None:
        """A statement comes, and a batch is approved: whole, in part, or without its money."""
        pending = SettlementBatch.objects.filter(state="pending").order_by("id")
        batch = pending[which % len(pending)]
        if arriving:
            self.tell(1, arriving)
        kind = Proposal.Action.APPROVE_UNFUNDED if is_exception else Proposal.Action.APPROVE_BATCH
        with override_settings(RELEASE_REQUIRES_FUNDS=True):
            self.submit(lambda: staff_actions.batch_decision(batch, kind, reason="Checked"))
            proposed = Proposal.objects.filter(
                state="open", target=batch.pk, action=Proposal.Action.APPROVE_UNFUNDED
            )
            for proposal in proposed:
                self.confirm_as(proposal, self.second)

    # Reserves and debts

    @rule(
        points=st.sampled_from([0, 1_000, 10_000]),
        fixed=st.sampled_from([0, 0, 100_000]),
        days=st.sampled_from([1, 7]),
    )
    def agree_a_reserve(self, points: int, fixed: int, days: int) -> None:
        agree(
            self.business,
            reserve_basis_points=points,
            reserve_days=days if points else 0,
            reserve_fixed=fixed,
        )

    @rule()
    def return_reserves(self) -> None:
        """What is due returns, unless the business owes."""
        before = debts.owing()
        held = ReserveHold.objects.filter(business=self.business).values_list("currency", "left")
        in_reserve = sorted(held)
        reserves.return_due(now=self.tick())
        still = [each for each in sorted(held.all()) if (self.business.pk, each[0]) in before]
        assert still == [each for each in in_reserve if (self.business.pk, each[0]) in before]

    @precondition(lambda self: debts.owing())
    @rule(which=ANY)
    def collect_from_the_reserve(self, which: int) -> None:
        debts.update(now=self.tick())
        owing = Debt.objects.open().select_related("business").order_by("id")
        debt = owing[which % len(owing)]
        self.submit(lambda: debt_collection.collection(debt, reason="Agreed by phone"))
        owed, held = reserves.owed_and_held(debt.business_id, debt.currency)
        assert django_settings.FOUR_EYES or not (owed and held)

    # Staff

    @rule(amount=AMOUNTS, currency=CURRENCY)
    def top_up(self, amount: int, currency: str) -> None:
        self.submit(
            lambda: journal_actions.top_up(
                business=self.business,
                currency=currency,
                amount=amount,
                cause=uuid4(),
                reason="Float",
                bank_account=self.bank if currency == "NGN" else "",
            )
        )

    @rule(amount=AMOUNTS, currency=CURRENCY, is_changed=st.booleans())
    def confirm_a_top_up(self, amount: int, currency: str, *, is_changed: bool) -> None:
        """A proposed top-up is refused if the wallet was topped up since."""
        with override_settings(FOUR_EYES=True):
            self.top_up(amount, currency)
        proposal = Proposal.objects.latest("id")
        if is_changed:
            with override_settings(FOUR_EYES=False):
                self.top_up(amount, currency)
        assert self.confirm_as(proposal, self.second) != is_changed

    @rule(is_on=st.booleans())
    def switch_four_eyes(self, *, is_on: bool) -> None:
        self.switch_four_eyes_to(is_on=is_on)

    def switch_four_eyes_to(self, *, is_on: bool) -> None:
        self.settings.disable()
        self.settings = override_settings(
            PAYOUT_REQUIRES_BALANCE=True,
            PAYOUT_BATCH_RATE=1_000_000,
            DISPUTE_FEES=DISPUTE_FEES,
            FOUR_EYES=is_on,
        )
        self.settings.enable()

    @precondition(lambda self: Proposal.objects.filter(state="open").exists())
    @rule(which=ANY, is_second=st.sampled_from([True, True, False]))
    def confirm(self, which: int, *, is_second: bool) -> None:
        waiting = Proposal.objects.filter(state="open").order_by("id")
        proposal = waiting[which % len(waiting)]
        confirmed = self.confirm_as(proposal, self.second if is_second else self.first)
        assert is_second or not confirmed

    def confirm_as(self, proposal: Proposal, user: User) -> bool:
        awaited = awaited_by(proposal)
        confirmed = self.refusable(
            lambda: four_eyes.confirm(proposal.pk, user=user, actor=STAFF, now=self.tick())
        )
        assert not confirmed or awaited == self.proposed.get(proposal.pk, "")
        if confirmed and proposal.action == Proposal.Action.TOP_UP:
            self.expected.topped_up[proposal.currency] += proposal.amount
        return confirmed

    @precondition(lambda self: Proposal.objects.filter(state="open").exists())
    @rule(which=ANY)
    def decline(self, which: int) -> None:
        waiting = Proposal.objects.filter(state="open").order_by("id")
        proposal = waiting[which % len(waiting)]
        self.refusable(
            lambda: four_eyes.decline(proposal.pk, user=self.first, reason="No", actor=STAFF, now=self.tick())
        )

    def submit(self, make: Callable[[], StaffAction]) -> None:
        """Submit an action by the first person. It is performed, or proposed with FOUR_EYES."""
        made: list[StaffAction] = []

        def act() -> Proposal | None:
            made.append(make())
            proposal = four_eyes.submit(made[0], user=self.first, actor=STAFF, now=self.tick())
            if proposal is not None:
                self.proposed[proposal.pk] = awaited_by(proposal)
            return proposal

        before = Posting.objects.count()
        is_done = self.refusable(act)
        if django_settings.FOUR_EYES:
            assert Posting.objects.count() == before
        elif is_done and made[0].kind == Proposal.Action.TOP_UP:
            self.expected.topped_up[made[0].currency] += made[0].amount

    def attempt(self, which: int, act: Callable[[Transaction], object]) -> None:
        """Perform an action on one of the business's transactions."""
        every = Transaction.objects.filter(business=self.business).select_related("business", "session")
        every = every.order_by("id")
        if every:
            chosen = every[which % len(every)]
            self.refusable(lambda: act(chosen))

    def refusable(self, act: Callable[[], object]) -> bool:
        """Perform an action and return whether it was accepted. A refusal must change nothing."""
        before = everything()
        try:
            act()
        except REFUSALS:
            assert everything() == before
            return False
        return True

    # Invariants after each step

    @invariant()
    def every_balance_matches_the_expected_one(self) -> None:
        for expected in (self.expected, ExpectedBalances(self.other)):
            for held in balances(expected.business):
                counted = expected.wallet(held.currency), expected.pending(held.currency)
                assert (held.currency, held.available, held.pending) == (held.currency, *counted)

    @invariant()
    def every_entry_sums_to_zero_and_every_account_to_its_postings(self) -> None:
        entries: Counter[int] = Counter()
        sums: Counter[int] = Counter()
        for posting in Posting.objects.all():
            entries[posting.entry_id] += posting.amount
            sums[posting.account_id] += posting.amount
        assert not any(entries.values())
        for account in Account.objects.all():
            assert account.balance == sums[account.pk]

    @invariant()
    def suspense_is_what_arrived_without_an_owner(self) -> None:
        expected: Counter[str] = Counter()
        for money in open_suspense():
            if money.amount <= 10**16:
                expected[money.currency] += money.amount
        for report in DisputeReport.objects.unmatched().exclude(amount_in_suspense=0):
            expected[report.currency] += report.amount_in_suspense
        held = Account.objects.filter(kind=Kind.SUSPENSE).values_list("currency", "balance")
        assert {currency: balance for currency, balance in held if balance} == dict(expected)

    @invariant()
    def no_wallet_is_overdrawn(self) -> None:
        """Only what staff recover or undo may do that, and never by more."""
        for balance in balances(self.business):
            assert balance.available >= -self.expected.taken_back(balance.currency)

    @invariant()
    def no_more_is_paid_out_than_was_credited(self) -> None:
        for currency in CURRENCIES:
            wallet = Posting.objects.filter(
                account__business=self.business, account__kind=Kind.WALLET, account__currency=currency
            )
            amounts = list(wallet.values_list("amount", "entry__kind"))
            credited = sum(amount for amount, _ in amounts if amount > 0)
            paid_out = sum(-amount for amount, kind in amounts if kind == "payout_accepted")
            assert paid_out <= credited

    @invariant()
    def final_states_stay(self) -> None:
        for kind, rows in FINAL.items():
            for pk, *state in rows():
                assert self.final.setdefault((kind, pk), state) == state

    @invariant()
    def every_rule_of_check_ledger_holds(self) -> None:
        assert [(one.invariant.name, one.broken) for one in check(AT_ANY_TIME) if not one.holds] == []


def open_suspense() -> list[UnclaimedTransfer | PayoutReturn]:
    unclaimed = UnclaimedTransfer.objects.filter(resolved_at=None).order_by("pk")
    returns = PayoutReturn.objects.filter(applied="unmatched", resolved_at=None).order_by("pk")
    return [*unclaimed, *returns]


def configure_account(account: str) -> None:
    SandboxAcquirer.account = SandboxBank.account = account


def awaited_by(proposal: Proposal) -> str:
    """Return what the transaction of a proposed resolution awaits now, or an empty string for other proposals."""
    if proposal.action != Proposal.Action.RESOLVE_TRANSACTION:
        return ""
    return Transaction.objects.values_list("awaiting", flat=True).get(pk=proposal.target)


FINAL: dict[str, Callable[[], Iterable[tuple[object, ...]]]] = {
    "transaction": lambda: Transaction.objects.exclude(status="pending").values_list(
        "pk", "status", "response_code", "response_summary", "amount_captured", "fee", "finished_at"
    ),
    "account of a transaction": lambda: Transaction.objects.values_list("pk", "connector", "account"),
    "account of a refund": lambda: CardOperation.objects.values_list("pk", "connector", "account"),
    "operation": lambda: CardOperation.objects.exclude(status="pending").values_list(
        "pk", "status", "amount", "finished_at"
    ),
    "unapplied money": lambda: UnappliedMoney.objects.filter(state="credited").values_list(
        "pk", "state", "amount", "decided_at"
    ),
    "proposal": lambda: Proposal.objects.exclude(state="open").values_list("pk", "state", "decided_by"),
    "return": lambda: PayoutReturn.objects.exclude(applied="unmatched", resolved_at=None).values_list(
        "pk", "applied", "amount", "currency"
    ),
    "payout batch": lambda: PayoutBatch.objects.exclude(finished_at=None).values_list(
        "pk", "status", "item_count", "amount", "finished_at"
    ),
    "approval": lambda: PayoutApproval.objects.exclude(state="waiting").values_list(
        "pk", "state", "digest", "needed", "decided_at"
    ),
    "dispute": lambda: Dispute.objects.exclude(status__in=OPEN).values_list("pk", "status", "resolved_at"),
    "break": lambda: Break.objects.exclude(ended_at=None).values_list("pk", "ended_at", "ended_by"),
    "journal": lambda: Journal.objects.values_list("pk", "code", "currency", "business", "at"),
    "unclaimed transfer": lambda: UnclaimedTransfer.objects.exclude(resolved_at=None).values_list(
        "pk", "resolution", "resolved_at"
    ),
}


def everything() -> list[object]:
    """Return every row that a refused action must not change."""
    kept = (
        Transaction, CardOperation, PayoutReturn, SettlementBatch, UnappliedMoney, UnclaimedTransfer, Session, Posting,
        ReserveHold, Journal, Break, Match, PayoutBatch, PayoutBatchItem, PayoutApproval, PayoutApprovalGrant,
        PayoutControlsChange, Dispute, DisputeReport,
    )  # fmt: skip
    return [row for model in kept for row in model.objects.order_by("pk").values_list()]


@pytest.mark.long
@pytest.mark.timeout(max(900, 60 * EXAMPLES))
@pytest.mark.django_db
class TestMoney:
    def test_adds_up_after_any_sequence(self):
        run_machine(Money, examples=EXAMPLES)
