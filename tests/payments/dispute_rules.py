"""Disputes, as rules of the state machine of money: acquirers report cases in any order, and businesses answer them."""

from collections.abc import Callable
from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from disputes.models import Dispute, DisputeReport
from disputes.services import answers, clock, intake, unmatched
from disputes.services.reports import ReportedCase
from ledger.models import Account
from ledger.services import Kind
from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import Transaction
from payments.rules.dispute_words import OPEN, STAGES, Stage, Status
from tests.disputed import told

ANY = st.integers(min_value=0)  # picks one of the existing ones
ACTOR = Actor(name="test")
DISPUTE_FEES = {"NGN": 2_500}


class DisputeRules(RuleBasedStateMachine):
    """Cardholders' banks dispute card payments of the business."""

    business: Business
    clock: datetime
    tick: Callable[[], datetime]
    refusable: Callable[[Callable[[], object]], bool]
    submit: Callable[..., None]

    def begin_disputes(self) -> None:
        self.cases: list[ReportedCase] = []

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
        won=st.sampled_from([None, None, 300]),
        days=st.sampled_from([None, 2, 7]),
    )
    def report_a_case(
        self,
        which: int,
        stage: Stage,
        status: Status,
        won: int | None,
        days: int | None,
        *,
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
        intake.take(case, now=self.tick())
        self.cases.append(case)

    @precondition(lambda self: self.cases)
    @rule(which=ANY)
    def report_a_case_again(self, which: int) -> None:
        intake.take(self.cases[which % len(self.cases)], now=self.tick())

    @precondition(lambda self: self.disputes())
    @rule(which=ANY, part=st.sampled_from([None, None, 300]), is_submitted=st.booleans())
    def answer_a_dispute(self, which: int, part: int | None, *, is_submitted: bool) -> None:
        dispute = self.disputes()[which % len(self.disputes())]
        if is_submitted:
            self.refusable(lambda: answers.submit(dispute.pk, actor=ACTOR, clock=self.tick))
        else:
            self.refusable(lambda: answers.accept(dispute.pk, amount=part, actor=ACTOR, clock=self.tick))

    @rule(days=st.sampled_from([0, 3, 8]))
    def let_disputes_expire(self, days: int) -> None:
        self.clock += timedelta(days=days)
        due = clock.overdue(now=self.tick())
        assert all(clock.expire(due, clock=self.tick))

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

    def disputes(self) -> list[Dispute]:
        return list(Dispute.objects.of(self.business).order_by("pk"))

    @invariant()
    def held_is_what_open_disputes_are_about(self) -> None:
        is_open = [each for each in self.disputes() if each.status in OPEN and each.stage != Stage.INQUIRY]
        held = Account.objects.filter(kind=Kind.DISPUTES_HELD, business=self.business)
        for currency, balance in held.values_list("currency", "balance"):
            assert balance == sum(each.amount for each in is_open if each.currency == currency)
