"""Every transfer is applied once or recorded as unapplied money, in any order of events."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db.models import Sum
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from rest_framework.exceptions import ValidationError

from ledger.invariants import check
from merchants.people.audit import Actor
from payments.invariants.registry import INVARIANTS
from payments.models import Transaction
from payments.services.transactions import expiry
from payments.services.transfers import account_deactivation, incoming, unapplied_decisions
from payments.services.transfers.incoming import Notice
from payments.services.transfers.return_destinations import OtherCurrency
from payments.services.transfers.virtual_account_payments import SessionOpen
from tests import orders
from tests.factories import BusinessFactory
from tests.state_machines import run_machine
from tests.transactions import start
from tests.undoing import begin_undone, undo
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import AccountNumber, Session, Transfer, UnappliedMoney, VirtualAccount
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts
from virtual_accounts.services.transfer_matching import UnknownAccount
from webhooks.models import Delivery

ANY = st.integers(min_value=0)  # picks one of the existing rows
OFF = st.sampled_from([0, 0, 0, -1, 1, 10_000])  # difference from the expected amount
WAITS = st.sampled_from([timedelta(seconds=1), timedelta(minutes=2), timedelta(hours=1), timedelta(hours=25)])
STAFF = Actor(name="staff@sluice.example")


class Transfers(RuleBasedStateMachine):
    """A business with its accounts, and actions of the merchant, payers, bank, clock and staff."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.notices: list[Notice] = []
        self.final: dict[object, object] = {}
        # Each run is rolled back, so that the next one starts empty.
        self.undone = begin_undone()
        self.real_now, timezone.now = timezone.now, lambda: self.clock
        self.business = BusinessFactory()
        make_endpoint(business=self.business)

    def teardown(self) -> None:
        timezone.now = self.real_now
        undo(self.undone)

    @initialize()
    def begin(self) -> None:
        self.accounts = [
            self.make(orders.dynamic_account()),
            self.make(orders.static_account()),
            self.make(orders.business_account()),
        ]

    def make(self, order: dict[str, object]) -> VirtualAccount:
        request = read_account(order, business=self.business)
        return accounts.create(business=self.business, request=request, now=self.tick()).resource

    def tick(self) -> datetime:
        self.clock += timedelta(milliseconds=1)
        return self.clock

    @rule(which=ANY, amount=st.sampled_from([1, 5_000, 50_000]))
    def open(self, which: int, amount: int) -> None:
        account = self.accounts[which % len(self.accounts)]
        order = orders.transfer_payment(str(account.pk), amount=amount, expiry_duration=60)
        try:
            start(order, business=self.business, now=self.tick())
        except SessionOpen:
            assert account.is_static
        except ValidationError:
            account.refresh_from_db()
            assert not account.is_active

    @rule(which=ANY, off=OFF, currency=st.sampled_from(["NGN", "NGN", "NGN", "USD"]))
    def transfer_into_a_session(self, which: int, off: int, currency: str) -> None:
        """Send a transfer to an open or ended session: exact, underpaid, overpaid, late or second."""
        sessions = list(Session.objects.order_by("pk"))
        if sessions:
            session = sessions[which % len(sessions)]
            self.arrive(session.number_id, max(session.expected_amount + off, 1), currency)

    @rule(which=ANY)
    def transfer_to_any_number(self, which: int) -> None:
        numbers = sorted(AccountNumber.objects.values_list("pk", flat=True))[:8]
        self.arrive(numbers[which % len(numbers)], 700, "NGN")

    @rule()
    def transfer_to_an_unknown_number(self) -> None:
        self.arrive("0123456789", 700, "NGN")

    def arrive(self, number: str, amount: int, currency: str) -> None:
        notice = Notice(
            bank_reference=f"b-{len(self.notices)}-{number}",
            account_number=number,
            amount=amount,
            currency=currency,
            sender_name="Bisi Ojo",
        )
        try:
            received = incoming.receive(notice, clock=self.tick)
        except UnknownAccount:
            assert not Session.objects.filter(number=number).exists()
        else:
            assert not received.is_replay
            self.notices.append(notice)

    @rule(which=ANY)
    def repeat_a_notification(self, which: int) -> None:
        if self.notices:
            again = incoming.receive(self.notices[which % len(self.notices)], clock=self.tick)
            assert again.is_replay

    @rule(wait=WAITS, ends=st.booleans())
    def let_time_pass(self, wait: timedelta, *, ends: bool) -> None:
        self.clock += wait
        if ends:
            list(expiry.expire_sessions(clock=lambda: self.clock))

    @rule(which=ANY)
    def deactivate(self, which: int) -> None:
        account_deactivation.deactivate(self.accounts[which % len(self.accounts)].pk, now=self.tick())

    @rule(which=ANY)
    def activate(self, which: int) -> None:
        account_deactivation.activate(self.accounts[which % len(self.accounts)].pk, now=self.tick())

    @rule(which=ANY, returns=st.booleans())
    def decide(self, which: int, *, returns: bool) -> None:
        waiting = list(UnappliedMoney.objects.open().order_by("pk"))
        if waiting:
            money = waiting[which % len(waiting)]
            act = unapplied_decisions.return_to_sender if returns else unapplied_decisions.credit
            sender = {"account_number": "0123456789", "bank_code": "058"} if returns else {}
            decide = partial(act, money.pk, reason="Late", actor=STAFF, now=self.tick(), **sender)
            if returns and money.currency != "NGN":  # the account's bank accepts NGN only
                with pytest.raises(OtherCurrency):
                    decide()
            else:
                decide()

    @invariant()
    def every_transfer_is_applied_or_kept(self) -> None:
        paid = Transaction.objects.filter(request_type="payment", status="success")
        arrived, applied, kept = (
            rows.aggregate(total=Sum("amount"))["total"] or 0
            for rows in (Transfer.objects, paid, UnappliedMoney.objects)
        )
        assert arrived == applied + kept
        assert Transfer.objects.count() == len(self.notices)

    @invariant()
    def final_states_stay_and_have_one_event(self) -> None:
        ended = Transaction.objects.exclude(status="pending")
        for pk, *result in ended.values_list("pk", "status", "response_code", "session__status"):
            assert self.final.setdefault(pk, result) == result
        assert Delivery.objects.count() == len(self.final)

    @invariant()
    def the_ledger_balances(self) -> None:
        assert {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds} == {}


@pytest.mark.long
@pytest.mark.django_db
class TestTransfers:
    def test_are_never_lost_in_any_order_of_events(self):
        run_machine(Transfers, examples=10)
