"""What can happen to the disputed card payments of a business, and what must hold afterwards."""

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

from django.core.management import call_command
from django.utils import timezone

from disputes.models import Dispute, DisputeReport
from disputes.services.answers import answers
from disputes.services.reports import intake, unmatched
from kit.api.errors import Problem
from ledger.invariants import check
from ledger.models import Account
from merchants.models import Business, User
from merchants.people.audit import Actor
from payments.invariants.registry import INVARIANTS
from payments.models import SettlementBatch, Transaction
from payments.rules.words.dispute_words import STAGES, Stage, Status
from payments.services.refunds import refunds
from payments.services.staff import four_eyes
from tests import orders
from tests.disputed import told
from tests.settling import decide, settle
from tests.transactions import captured_payment, start

ACTOR = Actor(name="test")
SETTINGS = {"PAYOUT_REQUIRES_BALANCE": True, "FOUR_EYES": False, "DISPUTE_FEES": {"NGN": 2_500}}
UNKNOWN_RRN = "9" * 12
PARTS = [1, 20_000, 60_000, None, None]


class Actions:
    """What happens to the card payments of a business. Choices are made by `pick`; `person` decides for the staff."""

    def __init__(self, business: Business, person: User, pick: Callable[[Any], Any]) -> None:
        self.business, self.person, self.pick = business, person, pick
        self.reported: list[Any] = []

    def act(self, name: str) -> None:
        """Perform an action, which the state may refuse."""
        with suppress(Problem):
            getattr(self, name)()

    def pay(self) -> None:
        captured_payment(business=self.business, now=timezone.now(), amount=self.pick([20_000, 60_000]))

    def tell(self) -> None:
        """Tell any stage and status of a case, also a wrong one, or what was told before."""
        payment = self.payment()
        if payment is None:
            return
        said = told(
            payment,
            case_number=f"CB-{payment.pk.hex[-8:]}",
            stage=self.pick(STAGES),
            status=self.pick([*Status, Status.NEEDS_RESPONSE]),
            amount=self.pick(
                [payment.amount_captured, payment.amount_captured, payment.amount_captured // 2]
            ),
            outcome_amount=self.pick([None, None, 10_000]),
            respond_by=self.pick(
                [None, *(timezone.now() + timedelta(seconds=each) for each in (0.3, 172_800, 604_800))]
            ),
            rrn=self.pick([payment.retrieval_reference_number] * 3 + [UNKNOWN_RRN]),
        )
        self.reported.append(said)
        intake.take(said, now=timezone.now())

    def tell_again(self) -> None:
        if self.reported:
            intake.take(self.pick(self.reported), now=timezone.now())

    def submit(self) -> None:
        dispute = self.any_of(Dispute)
        if dispute is not None:
            answers.submit(dispute.pk, actor=ACTOR, clock=timezone.now)

    def accept(self) -> None:
        dispute, part = self.any_of(Dispute), self.pick(PARTS)
        if dispute is not None:
            answers.accept(dispute.pk, amount=part, actor=ACTOR, clock=timezone.now)

    def expire(self) -> None:
        call_command("expire_due", stdout=StringIO(), stderr=StringIO())

    def refund(self) -> None:
        payment, part = self.payment(), self.pick([*PARTS, None])
        if payment is not None:
            request = {"reference": orders.new_reference("rf")} | ({} if part is None else {"amount": part})
            refunds.refund(transaction=payment, request=request, now=timezone.now())

    def pay_out(self) -> None:
        start(orders.payout(amount=self.pick([10_000, 50_000])), business=self.business, now=timezone.now())

    def settle(self) -> None:
        settle()

    def decide_about_a_batch(self) -> None:
        batch = self.any_of(SettlementBatch)
        if batch is not None:
            decide(batch, self.pick(["approve", "release", "release", "reject"]))

    def decide_about_a_report(self) -> None:
        report, payment = self.chosen(DisputeReport.objects.all()), self.payment()
        make = self.pick([unmatched.credit, unmatched.dismissal, unmatched.assignment])
        if report is None or payment is None:
            return
        given = (report, payment) if make is unmatched.assignment else (report,)
        action = make(*given, reason="x")
        four_eyes.submit(action, user=self.person, actor=ACTOR, now=timezone.now())

    def payment(self) -> Any:
        return self.chosen(Transaction.objects.of(self.business).filter(method="card", status="success"))

    def any_of(self, model: Any) -> Any:
        return self.chosen(model.objects.filter(business=self.business))

    def chosen(self, rows: Any) -> Any:
        found = list(rows.order_by("pk"))
        return self.pick(found) if found else None


NAMES = [
    "pay", "tell", "tell", "tell", "tell_again", "submit", "accept", "expire", "refund", "pay_out", "settle",
    "decide_about_a_batch", "decide_about_a_report",
]  # fmt: skip


def act(business_id: UUID, person_id: int, name: str, dice: str) -> None:
    """Perform an action in a process of its own. `dice` is the seed of its choices."""
    business, person = Business.objects.get(pk=business_id), User.objects.get(pk=person_id)
    Actions(business, person, random.Random(dice).choice).act(name)


def broken() -> list[object]:
    return [(one.invariant.name, one.broken) for one in check(INVARIANTS) if not one.holds]


def assert_paid_back_once() -> None:
    """Compare, without amounts that we count ourselves, what payers got with what they paid."""
    for payment in Transaction.objects.filter(method="card", status="success").prefetch_related("disputes"):
        disputes = [each for each in payment.disputes.all() if each.stage != Stage.INQUIRY]
        lost = sum(each.amount - (each.outcome_amount or 0) for each in disputes)
        if not any(each.already_refunded for each in disputes):
            assert payment.amount_refunded + lost <= payment.amount_captured


def assert_everything_is_accounted_for(business: Business) -> None:
    """Money is nowhere but pending, held, in the wallet, or gone: what came in less fees, refunds and losses is there."""
    kept = Account.objects.filter(
        business=business,
        currency="NGN",
        kind__in=["pending_settlement", "disputes_held", "wallet", "payouts_in_flight"],
    )
    balance = sum(kept.values_list("balance", flat=True))
    payments = Transaction.objects.filter(business=business, status="success", method="card")
    came = sum(
        each.amount_captured - each.fee - each.amount_refunded - each.amount_being_refunded
        for each in payments
    )
    left = sum(
        each.amount + each.fee
        for each in Transaction.objects.of(business).filter(request_type="payout", status="success")
    )
    disputes = [each for each in Dispute.objects.of(business) if each.stage != Stage.INQUIRY]
    lost = sum(each.amount - each.outcome_amount for each in disputes if each.outcome_amount is not None)
    fees = sum(each.fee for each in disputes if each.status not in (Status.WON, Status.WITHDRAWN))
    assert balance == came - left - lost - fees
