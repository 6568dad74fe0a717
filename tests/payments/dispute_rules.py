"""Disputes, as rules of the state machine of money: acquirers report cases in any order, and businesses answer them."""

from collections.abc import Callable
from datetime import datetime, timedelta

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from disputes.models import Dispute, DisputeReport
from disputes.services import clock
from disputes.services.answers import answers
from disputes.services.reports import intake, unmatched
from disputes.services.reports.reports import ReportedCase
from ledger.models import Account
from ledger.services import Kind
from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import Transaction
from payments.rules.words.dispute_words import OPEN, STAGES, Stage, Status
from tests import orders
from tests.disputed import told
from tests.transactions import start

ANY = st.integers(min_value=0)  # picks one of the existing ones
ACTOR = Actor(name="test")
DISPUTE_FEES = {"NGN": 2_500}
PART = 300
# What happens to a dispute next. Each rule plays some of it, because one rule of many is rarely chosen.
WHAT = st.sampled_from(
    [
        "submit_answer",
        "submit_answer",
        "accept",
        "accept_a_part",
        "win",
        "win_a_part",
        "lose",
        "withdraw",
        "escalate",
    ]
)
FOLLOWING, SOME = st.lists(WHAT, max_size=2), st.lists(WHAT, min_size=1, max_size=2)


class DisputeRules(RuleBasedStateMachine):
    """Cardholders' banks dispute card payments of the business."""

    business: Business
    clock: datetime
    tick: Callable[[], datetime]
    refusable: Callable[[Callable[[], object]], bool]
    submit: Callable[..., None]

    def begin_disputes(self) -> None:
        """Begin with a disputed payment, so that every rule may be the first."""
        self.cases: list[ReportedCase] = []
        payment = start(orders.card_payment(amount=250_000), business=self.business, now=self.tick())
        self.report(told(payment, respond_by=self.clock + timedelta(days=7)))

    def report(self, case: ReportedCase) -> Dispute | None:
        """Have the acquirer report a case, and return its dispute, if it is matched."""
        self.cases.append(case)
        return intake.take(case, now=self.tick()).dispute

    def paid_by_card(self) -> list[Transaction]:
        found = Transaction.objects.filter(
            business=self.business, method="card", request_type="payment", status="success"
        )
        return list(found.order_by("id"))

    @precondition(lambda self: self.paid_by_card())
    @rule(
        which=ANY,
        stage=st.sampled_from([Stage.CHARGEBACK, Stage.CHARGEBACK, *STAGES]),
        status=st.sampled_from([Status.NEEDS_RESPONSE, Status.NEEDS_RESPONSE, *Status]),
        has_other_amount=st.sampled_from([False, False, True]),
        won=st.sampled_from([None, None, PART]),
        days=st.sampled_from([None, 2, 7]),
        following=FOLLOWING,
    )
    def report_a_case(
        self,
        *,
        which: int,
        stage: Stage,
        status: Status,
        won: int | None,
        days: int | None,
        following: list[str],
        has_other_amount: bool,
    ) -> None:
        """An acquirer reports any stage and status of a payment's case, in any order."""
        payment = self.paid_by_card()[which % len(self.paid_by_card())]
        case = told(
            payment,
            stage=stage,
            status=status,
            amount=max(payment.amount_captured // 2, 1) if has_other_amount else payment.amount_captured,
            outcome_amount=won,
            respond_by=days and self.clock + timedelta(days=days),
        )
        self.go_on(self.report(case), following)

    @rule(which=ANY, following=FOLLOWING)
    def report_a_case_again(self, which: int, following: list[str]) -> None:
        again = intake.take(self.cases[which % len(self.cases)], now=self.tick())
        self.go_on(again.dispute, following)

    @rule(which=ANY, following=SOME)
    def go_on_with_a_dispute(self, which: int, following: list[str]) -> None:
        self.go_on(self.disputes()[which % len(self.disputes())], following)

    @rule(which=ANY, following=SOME)
    def go_on_with_an_open_dispute(self, which: int, following: list[str]) -> None:
        """An open one, if there is any, because most have ended after some steps."""
        chosen = [each for each in self.disputes() if each.is_open] or self.disputes()
        self.go_on(chosen[which % len(chosen)], following)

    @rule(days=st.sampled_from([0, 3, 8]), which=ANY, following=FOLLOWING)
    def let_disputes_expire(self, days: int, which: int, following: list[str]) -> None:
        self.clock += timedelta(days=days)
        due = clock.overdue(now=self.tick())
        assert all(clock.expire(due, clock=self.tick))
        self.go_on(self.disputes()[which % len(self.disputes())], following)

    @precondition(lambda self: DisputeReport.objects.unmatched().exists())
    @rule(
        which=ANY,
        payment=ANY,
        make=st.sampled_from([unmatched.credit, unmatched.dismissal, unmatched.assignment]),
    )
    def decide_about_a_report(self, which: int, payment: int, make: Callable[..., object]) -> None:
        reports = list(DisputeReport.objects.unmatched().order_by("pk"))
        report, payments = reports[which % len(reports)], self.paid_by_card()
        given = (report, payments[payment % len(payments)]) if make is unmatched.assignment else (report,)
        self.submit(lambda: make(*given, reason="Seen on paper"))

    def go_on(self, dispute: Dispute | None, following: list[str]) -> None:
        for what in following if dispute is not None else ():
            dispute.refresh_from_db()
            before = dispute.status
            getattr(self, what)(dispute)
            dispute.refresh_from_db()
            event(f"{what}: {before} to {dispute.status}")

    def submit_answer(self, dispute: Dispute) -> None:
        self.refusable(lambda: answers.submit(dispute.pk, actor=ACTOR, clock=self.tick))

    def accept(self, dispute: Dispute, amount: int | None = None) -> None:
        self.refusable(lambda: answers.accept(dispute.pk, amount=amount, actor=ACTOR, clock=self.tick))

    def accept_a_part(self, dispute: Dispute) -> None:
        self.accept(dispute, PART)

    def win(self, dispute: Dispute) -> None:
        self.news(dispute, status=Status.WON)

    def win_a_part(self, dispute: Dispute) -> None:
        self.news(dispute, status=Status.WON, outcome_amount=min(PART, dispute.amount))

    def lose(self, dispute: Dispute) -> None:
        self.news(dispute, status=Status.LOST)

    def withdraw(self, dispute: Dispute) -> None:
        self.news(dispute, status=Status.WITHDRAWN)

    def escalate(self, dispute: Dispute) -> None:
        stage = STAGES[min(STAGES.index(Stage(dispute.stage)) + 1, len(STAGES) - 1)]
        self.news(dispute, stage=stage, respond_by=self.clock + timedelta(days=2))

    def news(self, dispute: Dispute, **changes: object) -> None:
        """Have the acquirer report the case of a dispute."""
        same = {"case_number": dispute.case_number, "stage": Stage(dispute.stage), "amount": dispute.amount}
        self.report(told(dispute.transaction, **same | changes))

    def disputes(self) -> list[Dispute]:
        return list(Dispute.objects.of(self.business).order_by("pk"))

    @invariant()
    def held_is_what_open_disputes_are_about(self) -> None:
        is_open = [each for each in self.disputes() if each.status in OPEN and each.stage != Stage.INQUIRY]
        held = Account.objects.filter(kind=Kind.DISPUTES_HELD, business=self.business)
        for currency, balance in held.values_list("currency", "balance"):
            assert balance == sum(each.amount for each in is_open if each.currency == currency)
