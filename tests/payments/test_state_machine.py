"""Random actions on payments in any order, with invariants checked after every step."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from payments.models import CardOperation, InvalidState, Transaction
from payments.rules import fees
from payments.services.cards import captures, challenges
from payments.services.rails import requery
from payments.services.refunds import refunds
from payments.services.transactions import expiry
from payments.services.transactions.operations import AmountTooLarge
from tests import orders
from tests.factories import BusinessFactory
from tests.state_machines import run_machine
from tests.transactions import enter_code, start
from tests.undoing import begin_undone, undo

Status, Awaiting, RefundStatus = Transaction.Status, Transaction.Awaiting, Transaction.RefundStatus

CODES = {Status.PENDING: "10001", Status.SUCCESS: "10000"}
WAYS = {  # other fields of a request
    "at once": {},
    "later": {"capture": False},
    "challenged": {"three_ds": {"enabled": True}},
    "challenged, later": {"three_ds": {"enabled": True}, "capture": False},
    "unrecognised": {"source": orders.card_source(pan=orders.UNRECOGNISED_CARD)},
}
# Ordinary amounts, declined ones, and one without an answer (98).
AMOUNTS = st.sampled_from([500, 40_000, 100_000, 150_098, 90_051])
# Ordinary amounts; declined as a refund (05); no answer as a refund or capture (98).
PARTS = st.sampled_from([None, 1, 500, 10_000, 20_005, 20_098, 150_099])
WAITS = st.sampled_from([timedelta(seconds=1), timedelta(minutes=16), timedelta(days=8)])
ANY = st.integers(min_value=0)  # picks one of the existing payments

REFUSALS = (InvalidState, AmountTooLarge, challenges.ChallengeClosed)


class Payments(RuleBasedStateMachine):
    """A business, its payments and all events that change them: merchant, payer, time and acquirer."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.final: dict[object, tuple[object, ...]] = {}
        self.made: list[Transaction] = []
        self.refund_requests: list[tuple[Transaction, dict[str, object]]] = []
        # Each run is rolled back, so that the next one starts empty.
        self.undone = begin_undone()
        self.real_now, timezone.now = timezone.now, lambda: self.clock
        self.business = BusinessFactory()

    def teardown(self) -> None:
        timezone.now = self.real_now
        undo(self.undone)

    @initialize(way=st.sampled_from(sorted(WAYS)), amount=AMOUNTS)
    def begin(self, way: str, amount: int) -> None:
        self.pay(way, amount)

    @rule(way=st.sampled_from(sorted(WAYS)), amount=AMOUNTS)
    def create(self, way: str, amount: int) -> None:
        self.pay(way, amount)

    def pay(self, way: str, amount: int) -> None:
        order = orders.card_payment(amount=amount, **WAYS[way])
        self.made.append(start(order, business=self.business, now=self.tick()))

    @rule(which=ANY, amount=PARTS)
    def capture(self, which: int, amount: int | None) -> None:
        self.attempt(which, lambda pk: captures.capture(transaction_id=pk, amount=amount, now=self.clock))

    @rule(which=ANY)
    def void(self, which: int) -> None:
        self.attempt(which, lambda pk: captures.void(transaction_id=pk, now=self.clock))

    @rule(which=ANY, amount=PARTS)
    def refund(self, which: int, amount: int | None) -> None:
        request = {"reference": orders.new_reference(), **({"amount": amount} if amount else {})}
        payment = self.attempt(
            which, lambda pk: refunds.refund(transaction=self.read(pk), request=request, now=self.clock)
        )
        if payment is not None:
            self.refund_requests.append((payment, request))

    @rule(which=ANY)
    def repeat_a_refund(self, which: int) -> None:
        if self.refund_requests:
            payment, request = self.refund_requests[which % len(self.refund_requests)]
            again = refunds.refund(transaction=payment, request=request, now=self.tick())
            assert again.is_replay

    @rule(which=ANY, code=st.sampled_from(["123456", "123456", "000000"]))
    def answer_the_challenge(self, which: int, code: str) -> None:
        def answer(pk: object) -> None:
            try:
                challenge = getattr(self.read(pk), "challenge", None)
                if challenge is None:
                    raise challenges.ChallengeClosed
                enter_code(challenge=challenge, code=code, now=self.clock)
            except challenges.WrongInput:
                pass

        self.attempt(which, answer)

    @rule(wait=WAITS)
    def let_time_pass(self, wait: timedelta) -> None:
        self.clock += wait
        for _ in expiry.expire(expiry.overdue(now=self.clock), clock=lambda: self.clock):
            pass

    @rule()
    def requery_everything(self) -> None:
        for subject in requery.unanswered():
            for _ in requery.query_leased([subject], clock=self.tick):
                pass

    def attempt(self, which: int, act: Callable[[object], object]) -> Transaction | None:
        """Perform an action on one of the payments. A refusal must leave every row unchanged."""
        payment = self.made[which % len(self.made)]
        before = self.everything()
        self.tick()
        try:
            act(payment.pk)
        except REFUSALS:
            assert self.everything() == before
            return None
        return payment

    def tick(self) -> datetime:
        self.clock += timedelta(milliseconds=1)
        return self.clock

    def read(self, pk: object) -> Transaction:
        return Transaction.objects.select_related("challenge", "business").get(pk=pk)

    def everything(self) -> list[object]:
        return [
            *Transaction.objects.order_by("pk").values_list(),
            *CardOperation.objects.order_by("pk").values_list(),
        ]

    def rows(self) -> list[Transaction]:
        return list(Transaction.objects.prefetch_related("operations", "transitions"))

    @invariant()
    def amounts_add_up(self) -> None:
        for row in self.rows():
            paid_back = [one for one in row.operations.all() if one.kind == "refund"]
            assert 0 <= row.amount_captured <= row.amount
            assert row.amount_refunded == sum(one.amount for one in paid_back if one.status == "success")
            assert row.amount_being_refunded == sum(
                one.amount for one in paid_back if one.status == "pending"
            )
            assert row.amount_refunded + row.amount_being_refunded <= row.amount_captured
            assert row.fee == (fees.fee(fees.CARD, row.amount_captured) if row.status == "success" else 0)

    @invariant()
    def refund_status_follows_amounts_and_the_last_attempt(self) -> None:
        for row in self.rows():
            answered = [one for one in row.operations.all() if one.kind == "refund" and one.finished_at]
            last = max(answered, key=lambda one: one.finished_at, default=None)
            if last is None:
                expected = RefundStatus.NONE
            elif last.status == "failed":
                expected = RefundStatus.REFUND_FAILED
            elif row.amount_refunded == row.amount_captured:
                expected = RefundStatus.REFUNDED
            else:
                expected = RefundStatus.PARTIALLY_REFUNDED
            assert row.refund_status == expected

    @invariant()
    def final_states_do_not_change(self) -> None:
        for row in self.rows():
            if row.status != Status.PENDING:
                now = (
                    row.status,
                    row.response_code,
                    row.response_summary,
                    row.finished_at,
                    row.amount_captured,
                )
                assert self.final.setdefault(row.pk, now) == now

    @invariant()
    def code_and_awaiting_match_the_status(self) -> None:
        for row in self.rows():
            assert row.response_code == CODES.get(row.status, row.response_code)
            assert row.response_code.startswith("2") == (row.status == Status.FAILED)
            assert (row.awaiting == "") == (row.status != Status.PENDING) == (row.finished_at is not None)
            assert (row.next_query_at is not None) == (row.awaiting == Awaiting.RAIL)
            assert (row.expires_at is not None) == (row.awaiting in {Awaiting.PAYER, Awaiting.CAPTURE})

    @invariant()
    def a_capture_or_void_under_way_has_an_open_or_expired_authorisation(self) -> None:
        for one in CardOperation.objects.exclude(kind="refund").select_related("transaction"):
            if one.transaction.response_code == "20068":
                assert one.kind == "void" or one.status == "failed"
            elif one.status == "pending":
                assert one.transaction.awaiting == Awaiting.CAPTURE
            else:
                captured = one.kind == "capture"
                assert one.transaction.response_code == ("10000" if captured else "20090")

    @invariant()
    def an_expired_authorisation_is_released_once(self) -> None:
        for row in self.rows():
            if row.response_code == "20068":
                voids = [one for one in row.operations.all() if one.kind == "void" and one.status != "failed"]
                assert len(voids) == 1

    @invariant()
    def the_log_replays_to_the_current_state(self) -> None:
        for row in self.rows():
            state = {"status": "pending", "refund_status": "none", "awaiting": "rail"}
            moves = sorted(row.transitions.all(), key=lambda move: move.pk)
            for move in moves:
                assert state[move.attribute] == move.before
                state[move.attribute] = move.after
            assert (state["status"], state["refund_status"]) == (row.status, row.refund_status)
            assert state["awaiting"] == row.awaiting or row.status != Status.PENDING
            finishes = [move for move in moves if move.attribute == "status"]
            assert len(finishes) == (row.status != Status.PENDING)


@pytest.mark.long
@pytest.mark.django_db
class TestPayments:
    def test_keep_the_invariants_after_any_sequence(self):
        run_machine(Payments, examples=15)
