"""The order of row locks (`kit.db.locks`) prevents deadlocks between database transactions.

LOCK_ORDER_SECONDS=60 runs the long variant of the mixed traffic.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection, connections, transaction
from django.db.models import Q
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from disputes.models import Dispute
from disputes.services import moves
from disputes.services.locking import lock_dispute
from disputes.services.moves import Moved
from kit.api.errors import Problem
from kit.db import clock
from ledger.booking.account_ids import account_ids
from ledger.invariants import check
from ledger.models import Account, Entry
from merchants.models import Business
from payments.invariants.registry import INVARIANTS
from payments.models import (
    AlreadyTransitioned,
    CardOperation,
    Checkout,
    PaymentLink,
    PayoutReturn,
    Proposal,
    SettlementBatch,
    Tariff,
    Transaction,
    Transition,
)
from payments.pages.card_form import read_card
from payments.rails.protocol import RailAnswer
from payments.rules.outcomes import COMPLETED, DO_NOT_HONOUR
from payments.rules.words.dispute_words import Status
from payments.services import fee_rules
from payments.services.cards import captures
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkout_limits import LimitReached
from payments.services.checkouts.checkouts import Details
from payments.services.links import link_recounts, links
from payments.services.links.link_uses import AttemptNotBegun
from payments.services.payouts import payout_returns
from payments.services.payouts.payout_returns import ReturnNotice
from payments.services.rails import requery
from payments.services.refunds import refunds
from payments.services.settlement import reserves
from payments.services.settlement.batches import batch_decisions
from payments.services.staff import four_eyes, staff_actions
from payments.services.staff.actions import journal_actions
from payments.services.transactions import cancellations, expiry, transitions
from payments.services.transactions.transitions import Cause
from payments.services.transfers import (
    account_deactivation,
    incoming,
    unapplied_decisions,
    unclaimed_decisions,
)
from payments.services.transfers.incoming import Notice
from tests import orders
from tests.disputed import disputed, take
from tests.factories import BusinessFactory, UserFactory
from tests.journals import adjusted
from tests.reserves import agree
from tests.settling import STAFF, decide, settle
from tests.transactions import captured_payment, expire_now, start
from tests.wallets import fill_wallet
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import Session, UnappliedMoney, UnclaimedTransfer, VirtualAccount
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts
from webhooks import services as webhooks

SECONDS = float(os.environ.get("LOCK_ORDER_SECONDS", "5"))

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.long,
    pytest.mark.timeout(300 + 2 * SECONDS),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one lock and one writer"),
]

LOST = {"name": "Ada Obi", "account_number": "0000000097", "bank_code": "058"}


def take_a_payment(business: Business, **changes: Any) -> Transaction:
    return captured_payment(business=business, now=timezone.now(), **changes)


def pay_out(business: Business, **changes: Any) -> Transaction:
    return start(orders.payout(**changes), business=business, now=timezone.now())


def pay_out_with_tax(business: Business) -> Callable[[], object]:
    """Agree on a fee of payouts with a tax, and pay out with both."""
    tariff = Tariff(business=business, flow="payout", currency="NGN", fixed=1_000, tax_basis_points=750)
    fee_rules.agree(tariff, actor=STAFF, now=timezone.now())
    return partial(pay_out, business)


def correct_by_staff(business: Business) -> Callable[[], object]:
    take_a_payment(business)  # a journal is about something
    return partial(adjusted, business, 100)


def refund(payment: Transaction, amount: int = 100) -> object:
    request = {"reference": orders.new_reference("rf"), "amount": amount}
    return refunds.refund(transaction=payment, request=request, now=timezone.now())


def answer(transaction: Transaction, outcome: Any) -> object:
    given = RailAnswer(outcome=outcome)
    return transitions.apply_answer(transaction, given, cause=Cause.RAIL, now=timezone.now())


def static_account(business: Business, *, is_open: bool) -> VirtualAccount:
    request = read_account(orders.static_account(), business=business)
    account = accounts.create(business=business, request=request, now=timezone.now()).resource
    if not is_open:
        account_deactivation.deactivate(account.pk, now=timezone.now())
    return account


def arrive(account: VirtualAccount, amount: int = 100) -> UnappliedMoney | None:
    notice = Notice(
        bank_reference=uuid4().hex,
        account_number=account.account_number,
        amount=amount,
        sender_name="Chidi Eze",
        sender_account_number="0123456789",
        sender_bank_code="058",
    )
    received = incoming.receive(notice)
    return UnappliedMoney.objects.filter(transfer=received.resource).first()


def return_payout(payout: Transaction, amount: int) -> object:
    notice = ReturnNotice(
        bank_reference=uuid4().hex,
        payout_reference=str(payout.pk),
        amount=amount,
        currency=payout.currency,
    )
    return payout_returns.receive(notice)


BECAUSE = {"reason": "Test", "actor": STAFF}


def arrive_unclaimed() -> UnclaimedTransfer:
    reference = uuid4().hex
    notice = Notice(
        bank_reference=reference, account_number="0123456789", amount=700, currency="NGN", sender_name="Bisi"
    )
    incoming.receive_notification(notice)
    return UnclaimedTransfer.objects.get(bank_reference=reference)


def return_unmatched() -> PayoutReturn:
    notice = ReturnNotice(bank_reference=uuid4().hex, payout_reference="unknown", amount=300, currency="NGN")
    return payout_returns.receive(notice).resource


def assign_unclaimed(business: Business) -> Callable[[], object]:
    number = static_account(business, is_open=True).account_number
    transfer = arrive_unclaimed()
    return lambda: unclaimed_decisions.assign(
        transfer.pk, account_number=number, owner=business, now=timezone.now(), **BECAUSE
    )


def match_return(business: Business) -> Callable[[], object]:
    returned, payout = return_unmatched(), pay_out(business)
    return lambda: payout_returns.match(returned.pk, payout_id=payout.pk, now=timezone.now(), **BECAUSE)


def end_early_returned_payout(business: Business) -> Callable[[], object]:
    payout = pay_out(business, customer=LOST)
    return_payout(payout, 300)
    return lambda: transitions.finish(payout, COMPLETED, cause=Transition.Cause.REQUERY, now=timezone.now())


def unapplied_money(business: Business) -> UnappliedMoney:
    money = arrive(static_account(business, is_open=False))
    assert money is not None
    return money


def transfer_payment(business: Business) -> Transaction:
    arrive(static_account(business, is_open=True), 700)
    return Transaction.objects.filter(business=business, method="virtual_account").latest("id")


def approved_batch(business: Business) -> SettlementBatch:
    take_a_payment(business)
    return decide(*settle(), "approve")


def reserved_batch(business: Business) -> SettlementBatch:
    agree(business, reserve_basis_points=1_000, reserve_days=30)
    return approved_batch(business)


def return_reserve(business: Business) -> Callable[[], object]:
    batch = reserved_batch(business)
    batch_decisions.release(batch.pk, actor=STAFF, now=timezone.now())
    return partial(reserves.return_due, now=timezone.now() + timedelta(days=31))


def tell(payment: Transaction, status: Status = Status.NEEDS_RESPONSE) -> Callable[[], object]:
    return partial(take, payment, status=status)


def opened_dispute(business: Business) -> Dispute:
    return disputed(take_a_payment(business))


def lost_dispute(business: Business) -> Dispute:
    dispute = opened_dispute(business)
    take(dispute.transaction, status=Status.LOST)
    return dispute


def move(dispute: Dispute, change: Callable[..., Moved], *given: int) -> object:
    with transaction.atomic():
        locked = lock_dispute(dispute.pk)
        moves.book([change(locked, *given, actor=STAFF.name, now=timezone.now())])
    return dispute


def end_debited_dispute(business: Business) -> Callable[[], object]:
    dispute = opened_dispute(business)
    move(dispute, moves.record_debit)
    return tell(dispute.transaction, Status.LOST)


# Each prepares and returns an action. They cover every kind of ledger entry.
ACTIONS: dict[str, Callable[[Business], Callable[[], object]]] = {
    "card payment": lambda business: partial(take_a_payment, business),
    "refund": lambda business: partial(refund, take_a_payment(business)),
    "transfer payment": lambda business: partial(arrive, static_account(business, is_open=True)),
    "transfer refund": lambda business: partial(refund, transfer_payment(business)),
    "unapplied transfer": lambda business: partial(arrive, static_account(business, is_open=False)),
    "credit": lambda business: partial(
        unapplied_decisions.credit, unapplied_money(business).pk, now=timezone.now(), **BECAUSE
    ),
    "return to sender": lambda business: partial(
        unapplied_decisions.return_to_sender, unapplied_money(business).pk, now=timezone.now(), **BECAUSE
    ),
    "payout": lambda business: partial(pay_out, business),
    "payout sent": lambda business: partial(answer, pay_out(business, customer=LOST), COMPLETED),
    "payout refused": lambda business: partial(answer, pay_out(business, customer=LOST), DO_NOT_HONOUR),
    "payout returned": lambda business: partial(return_payout, pay_out(business), 300),
    "pending payout returned": lambda business: partial(
        return_payout, pay_out(business, customer=LOST), 250_000
    ),
    "release": lambda business: partial(
        batch_decisions.release, approved_batch(business).pk, actor=STAFF, now=timezone.now()
    ),
    "release with a reserve": lambda business: partial(
        batch_decisions.release, reserved_batch(business).pk, actor=STAFF, now=timezone.now()
    ),
    "return of a reserve": return_reserve,
    "top-up": lambda business: partial(fill_wallet, business, 100),
    "unclaimed transfer": lambda _business: arrive_unclaimed,
    "assigned transfer": assign_unclaimed,
    "unmatched return": lambda _business: return_unmatched,
    "matched return": match_return,
    "end of a payout that was returned early": end_early_returned_payout,
    "dispute": lambda business: tell(take_a_payment(business)),
    "won dispute": lambda business: tell(opened_dispute(business).transaction, Status.WON),
    "debit of a dispute": lambda business: partial(move, opened_dispute(business), moves.record_debit),
    "debit of a lost dispute": lambda business: partial(move, lost_dispute(business), moves.record_debit),
    "correction of a dispute": lambda business: partial(move, lost_dispute(business), moves.correct, 100),
    "lost dispute that was debited": end_debited_dispute,
    "journal": correct_by_staff,
    "payout with a tax": pay_out_with_tax,
}


@contextmanager
def other_connection() -> Iterator[psycopg.Connection]:
    """Yield a connection outside Django, so that a test can hold locks while actions wait for them."""
    named = ("dbname", "user", "password", "host", "port")
    where = {name: value for name, value in connection.get_connection_params().items() if name in named}
    with psycopg.connect(**where) as other:
        yield other
        other.rollback()


def in_thread(pool: ThreadPoolExecutor, action: Callable[[], object]) -> Future[object]:
    def run() -> object:
        try:
            return action()
        finally:
            connections.close_all()

    return pool.submit(run)


def waits(running: Future[object], *, for_: psycopg.Connection) -> bool:
    """Wait until an action is done or waits for a lock of this connection, and return whether it waits."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
    with connection.cursor() as cursor:
        while not running.done():
            cursor.execute(waiting, [for_.info.backend_pid])
            if cursor.fetchone()[0]:
                return True
            time.sleep(0.005)
    return False


def is_free(other: psycopg.Connection, account: Account) -> bool:
    try:
        with other.transaction():  # a savepoint, because locks already held stay held
            other.execute("SELECT 1 FROM ledger_account WHERE id = %s FOR UPDATE NOWAIT", [account.pk])
            raise psycopg.Rollback
    except psycopg.errors.LockNotAvailable:
        return False
    return True


@pytest.fixture
def business(settings: Any) -> Business:
    settings.PAYOUT_REQUIRES_BALANCE = True
    settings.DISPUTE_FEES = {"NGN": 500}
    business = BusinessFactory()
    fill_wallet(business, 10**9)
    account_ids(None, "NGN")
    return business


class TestLedgerAccounts:
    """Fault 9 of the first review: a return to sender held `unapplied` while it waited for `payouts_in_flight`.

    A transfer that held `bank_clearing` waited for it, and a payout's answer that held `payouts_in_flight`
    waited for the transfer.
    """

    @pytest.mark.parametrize("name", ACTIONS)
    def test_are_locked_in_ascending_order(self, business, name):
        waited_for = []
        with ThreadPoolExecutor(1) as pool, other_connection() as other:
            of_both = Q(business=business) | Q(business=None)
            kept = list(Account.objects.filter(of_both, currency="NGN").order_by("pk"))
            for place, account in enumerate(kept):
                action = ACTIONS[name](business)
                other.execute("SELECT 1 FROM ledger_account WHERE id = %s FOR UPDATE", [account.pk])
                running = in_thread(pool, action)
                if waits(running, for_=other):
                    waited_for.append(str(account.kind))
                    held = [str(one.kind) for one in kept[place + 1 :] if not is_free(other, one)]
                    assert held == [], f"{name} waits for {account.kind} and holds {held}"
                other.rollback()
                running.result(timeout=30)

        assert len(waited_for) >= 2  # an entry changes at least two accounts

    def test_every_kind_of_entry_is_tested(self, business):
        for make in ACTIONS.values():
            make(business)()

        assert_ledger_holds()
        booked = set(
            Entry.objects.filter(Q(business=business) | Q(business=None)).values_list("kind", flat=True)
        )
        # These change two accounts of the house, and none of a business.
        of_the_house = {"late_charge_in", "late_charge_out", "statement_opened", "statement_matched"}
        assert booked == set(Entry.Kind.values) - of_the_house


def assert_ledger_holds() -> None:
    assert {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds} == {}


def any_of(rows: Any) -> Any:
    found = rows.order_by("?").first()
    if found is None:
        raise NoSuchRow
    return found


def make_link(business: Business, **changes: Any) -> PaymentLink:
    request = {"reference": orders.new_reference("link"), "title": "Link", "amount": 700, "currency": "NGN"}
    return links.create(
        business=business, request=request | changes, actor=STAFF, now=timezone.now()
    ).resource


def begin_at(link: PaymentLink, number: int) -> Checkout:
    network = f"192.0.2.{number}"
    details = Details(amount=700, quantity=1, method="virtual_account")
    return checkouts.begin(link=link, details=details, address=network, network=network, now=timezone.now())


class TestPaymentLinks:
    def test_are_locked_in_ascending_order(self, business):
        """An expiry of payments of several links, the later link's first."""
        lower, higher = make_link(business), make_link(business)
        made = [
            checkouts.pay_by_transfer(checkout=begin_at(link, 1), attempt_number=0, now=timezone.now())
            for link in (higher, lower)
        ]
        assert (lower.pk, made[0].payment_link_id) < (higher.pk, made[1].payment_link_id)
        end = max(payment.session.expires_at for payment in made)
        free = "SELECT 1 FROM payments_paymentlink WHERE id = %s FOR UPDATE NOWAIT"
        with ThreadPoolExecutor(1) as pool, other_connection() as other:
            other.execute("SELECT 1 FROM payments_paymentlink WHERE id = %s FOR UPDATE", [lower.pk])
            running = in_thread(pool, lambda: sum(expiry.expire_sessions(clock=lambda: end)))

            assert waits(running, for_=other)
            other.execute(free, [higher.pk])  # raises an error if the expiry has locked it
            other.rollback()

            assert running.result(timeout=30) == 2


class NoSuchRow(Exception):
    """No row is in the state that the action requires."""


@dataclass
class Traffic:
    """Random actions of merchants, payers, the bank, staff and the scheduler on the same few rows."""

    businesses: list[Business]
    static: list[VirtualAccount]
    closed: list[VirtualAccount]
    dynamic: list[VirtualAccount]
    links: list[PaymentLink]
    first: Any
    second: Any
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    errors: list[BaseException] = field(default_factory=list)

    def run(self, seed: int, until: float) -> None:
        """Run random actions until a deadline on the monotonic clock. Collects all errors except refusals."""
        chance = random.Random(seed)
        names = sorted(name for name in dir(self) if name.startswith("do_"))
        while time.monotonic() < until:
            name = chance.choice(names)
            try:
                getattr(self, name)(chance)
                self.done[name] += 1
            except (Problem, ValidationError, AlreadyTransitioned, AttemptNotBegun, LimitReached, NoSuchRow):
                self.refused[name] += 1
            except Exception as error:
                self.errors.append(error)

    def do_card_payment(self, chance: random.Random) -> None:
        way = chance.choice([{}, {}, {"capture": False}, {"amount": 20_098}])
        take_a_payment(chance.choice(self.businesses), **way)

    def do_capture(self, chance: random.Random) -> None:
        payment = any_of(Transaction.objects.filter(awaiting="capture"))
        act = chance.choice([partial(captures.capture, amount=None), captures.void])
        act(transaction_id=payment.pk, now=timezone.now())

    def do_refund(self, chance: random.Random) -> None:
        paid = Transaction.objects.select_related("business").filter(request_type="payment", status="success")
        refund(any_of(paid), chance.choice([100, 700, 10_098]))

    def do_ask_for_a_transfer(self, chance: random.Random) -> None:
        account = chance.choice([*self.dynamic, *self.static])
        order = orders.transfer_payment(str(account.pk), amount=700)
        start(order, business=account.business, now=timezone.now())

    def do_transfer(self, chance: random.Random) -> None:
        arrive(chance.choice([*self.static, *self.closed]), chance.choice([100, 700]))

    def do_transfer_into_a_session(self, chance: random.Random) -> None:
        session = any_of(Session.objects.select_related("account").filter(status="pending"))
        notice = Notice(
            bank_reference=uuid4().hex,
            account_number=session.number_id,
            amount=chance.choice([700, 701]),
            sender_name="Chidi Eze",
        )
        incoming.receive(notice)

    def do_cancel(self, chance: random.Random) -> None:
        cancellations.cancel(transaction_id=any_of(Transaction.objects.filter(awaiting="transfer")).pk)

    def do_pay_out(self, chance: random.Random) -> None:
        way = chance.choice([{}, {"customer": LOST}, {"amount": 20_051}, {"amount": 10**11}])
        pay_out(chance.choice(self.businesses), **{"amount": 5_000} | way)

    def do_return_a_payout(self, chance: random.Random) -> None:
        return_payout(any_of(Transaction.objects.filter(request_type="payout")), chance.choice([100, 5_000]))

    def do_requery(self, chance: random.Random) -> None:
        for _ in requery.query_leased(requery.unanswered()[:3]):
            pass

    def do_pay_at_a_link(self, chance: random.Random) -> None:
        checkout = begin_at(chance.choice(self.links), chance.randrange(200))
        if chance.random() < 0.5:
            checkouts.pay_by_transfer(checkout=checkout, attempt_number=0, now=timezone.now())
            return
        number = chance.choice([orders.FRICTIONLESS_CARD, orders.CHALLENGED_CARD])
        _, card = read_card(orders.card_form(number), now=timezone.now())
        assert card is not None
        payment = checkouts.pay_by_card(checkout=checkout, card=card, attempt_number=0, now=timezone.now())
        if payment.awaiting == "payer":
            checkouts.end_attempt(payment)

    def do_change_a_link(self, chance: random.Random) -> None:
        link = chance.choice(self.links)
        links.change(
            link_id=link.pk, changes={"max_uses": chance.randint(1, 500)}, actor=STAFF, now=timezone.now()
        )

    def do_switch_a_link(self, chance: random.Random) -> None:
        link = chance.choice(self.links)
        links.deactivate(link_id=link.pk, actor=STAFF, now=timezone.now())
        links.activate(link_id=link.pk, actor=STAFF, now=timezone.now())

    def do_recount_links(self, chance: random.Random) -> None:
        list(link_recounts.recount(business=chance.choice(self.businesses)))

    def do_expire_sessions(self, chance: random.Random) -> None:
        end = clock.now() + timedelta(minutes=chance.choice([15, 40]))
        for _ in islice(expiry.expire_sessions(clock=lambda: end), 3):
            pass

    def do_expire(self, chance: random.Random) -> None:
        payment = any_of(Transaction.objects.filter(awaiting__in=["capture", "transfer"]))
        expire_now(payment.pk, now=clock.now())

    def do_settle(self, chance: random.Random) -> None:
        settle()

    def do_decide_about_a_batch(self, chance: random.Random) -> None:
        batch = any_of(SettlementBatch.objects.exclude(state__in=["released", "rejected"]))
        if chance.random() < 0.1:
            batch_decisions.reject(batch.pk, now=timezone.now(), **BECAUSE)
            return
        decide_on = batch_decisions.approve if batch.state == "pending" else batch_decisions.release
        decide_on(batch.pk, now=timezone.now(), **BECAUSE)

    def do_decide_about_unapplied_money(self, chance: random.Random) -> None:
        money = any_of(UnappliedMoney.objects.filter(state="open"))
        decide_on = chance.choice([unapplied_decisions.credit, unapplied_decisions.return_to_sender])
        decide_on(money.pk, now=timezone.now(), **BECAUSE)

    def do_propose(self, chance: random.Random) -> None:
        four_eyes.submit(self._action(chance), user=self.first, actor=STAFF, now=timezone.now())

    def do_confirm(self, chance: random.Random) -> None:
        proposal = any_of(Proposal.objects.filter(state="open"))
        four_eyes.confirm(proposal.pk, user=self.second, actor=STAFF, now=timezone.now())

    def do_configure_a_webhook(self, chance: random.Random) -> None:
        webhooks.configure(
            business=chance.choice(self.businesses),
            url="http://127.0.0.1:9/hook",
            subscribed_events=chance.choice([["payment"], ["payment", "payout"]]),
            enabled=chance.random() < 0.5,
            actor=STAFF,
            now=timezone.now(),
        )

    def do_close_or_open_an_account(self, chance: random.Random) -> None:
        account = chance.choice(self.static)
        account_deactivation.deactivate(account.pk, now=timezone.now())
        account_deactivation.activate(account.pk, now=timezone.now())

    def _action(self, chance: random.Random) -> staff_actions.StaffAction:
        kind = chance.choice(["top-up", "batch", "unapplied", "reversal", "transaction", "operation"])
        if kind == "top-up":
            business = chance.choice(self.businesses)
            return journal_actions.top_up(
                business=business, currency="NGN", amount=100, cause=uuid4(), reason="Test"
            )
        if kind == "batch":
            batch = any_of(SettlementBatch.objects.filter(state="approved").select_related("business"))
            return staff_actions.batch_decision(batch, Proposal.Action.RELEASE_BATCH, reason="Test")
        if kind == "unapplied":
            money = any_of(UnappliedMoney.objects.filter(state="open").select_related("business"))
            action = chance.choice([Proposal.Action.CREDIT_UNAPPLIED, Proposal.Action.RETURN_UNAPPLIED])
            return staff_actions.unapplied_decision(money, action, reason="Test")
        if kind == "reversal":
            payouts = Transaction.objects.filter(request_type="payout", status="success")
            return staff_actions.payout_reversal(any_of(payouts.select_related("business")), reason="Test")
        if kind == "transaction":
            unknown = Transaction.objects.filter(awaiting="rail").select_related("business")
        else:
            unknown = CardOperation.objects.filter(status="pending").select_related("transaction__business")
        return staff_actions.resolution(
            any_of(unknown), succeeded=chance.random() < 0.5, reason="Test", evidence="Test"
        )


class TestMixedTraffic:
    def test_has_no_deadlock_and_leaves_a_valid_ledger(self, settings):
        settings.PAYOUT_REQUIRES_BALANCE = settings.FOUR_EYES = True
        traffic = new_traffic()
        before = deadlocks()
        until = time.monotonic() + SECONDS

        with ThreadPoolExecutor(8) as pool:
            for running in [in_thread(pool, partial(traffic.run, seed, until)) for seed in range(8)]:
                running.result()

        print(f"{traffic.done.total()} actions, {traffic.refused.total()} refused")
        assert [repr(error.__cause__ or error) for error in traffic.errors] == []
        assert deadlocks() == before
        assert len(traffic.done) >= 15
        assert_ledger_holds()


def new_traffic() -> Traffic:
    businesses = [BusinessFactory(), BusinessFactory()]
    for business in businesses:
        fill_wallet(business, 10**6)
        make_endpoint(business=business)
    return Traffic(
        businesses=businesses,
        static=[static_account(business, is_open=True) for business in businesses],
        closed=[static_account(business, is_open=False) for business in businesses],
        dynamic=[dynamic_account(business) for business in businesses],
        links=[make_link(business, max_uses=500) for business in businesses for _ in range(3)],
        first=UserFactory(is_staff=True, is_superuser=True),
        second=UserFactory(is_staff=True, is_superuser=True),
    )


def dynamic_account(business: Business) -> VirtualAccount:
    request = read_account(orders.dynamic_account(), business=business)
    return accounts.create(business=business, request=request, now=timezone.now()).resource


def deadlocks() -> int:
    """Return the number of deadlocks in this database. PostgreSQL's backends report them when they exit."""
    connection.close()
    time.sleep(1.1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])
