"""What happens to a dispute at the same moment: one of the two takes place, and the ledger is right. PostgreSQL only.

Each fails without the lock of the payment (`lock_dispute`, `intents.lock`).
"""

import hashlib
import threading
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.utils import timezone

from disputes.models import Dispute, DisputeFile, DisputeReport, DisputeStep
from disputes.rules import report_format
from disputes.services import clock, moves
from disputes.services.answers import answers, evidence
from disputes.services.reports import intake, report_files, unmatched
from kit.api.errors import Problem
from ledger.invariants import check
from ledger.models import Entry
from merchants.people.audit import Actor
from payments.invariants.registry import INVARIANTS
from payments.models import InvalidState, Transaction
from payments.rules.words.dispute_words import Stage, Status
from payments.services.refunds import refunds
from payments.services.staff import four_eyes
from tests import orders
from tests.disputed import AMOUNT, disputed, file_of, row, take, told
from tests.factories import BusinessFactory, UserFactory
from tests.racing import racers
from tests.transactions import captured_payment
from tests.uploads import PNG

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer"),
]

ROUNDS = 10
ACTOR = Actor(name="test")


@pytest.fixture(autouse=True)
def _books_are_right(db):
    yield
    assert [(each.invariant.name, each.broken) for each in check(INVARIANTS) if not each.holds] == []


@pytest.fixture
def business():
    return BusinessFactory()


def paid(business):
    return captured_payment(business=business, now=timezone.now(), amount=AMOUNT)


def failures(results):
    return [each for each in results if isinstance(each, Exception)]


def test_submission_in_the_second_of_the_deadline_or_the_expiry(business):
    """Half of the submissions read a time before the deadline, and the expiry one after it."""
    outcomes = Counter()
    with racers(2) as line:
        for _ in range(ROUNDS):
            dispute = disputed(paid(business))
            before, after = (dispute.respond_by + timedelta(seconds=second) for second in (-1, 0))
            submit = partial(answers.submit, dispute.pk, actor=ACTOR, clock=lambda before=before: before)
            expire = partial(clock.expire_one, dispute.pk, clock=lambda after=after: after)

            submitted, expired = line.race(submit, expire)

            status = Dispute.objects.get(pk=dispute.pk).status
            outcomes[status] += 1
            assert (status, isinstance(submitted, InvalidState), expired) in (
                ("under_review", False, False),
                ("expired", True, True),
            )
            ends = DisputeStep.objects.filter(dispute=dispute, kind__in=["submitted", "closed"])
            assert ends.count() == 1
    assert sum(outcomes.values()) == ROUNDS


def test_news_that_arrive_during_a_submission(business):
    """The submission reads the time between its lock and its changes. The news wait for its end, or the submission would fail."""
    payment = paid(business)
    dispute, is_read, is_told = disputed(payment), threading.Event(), threading.Event()

    def read_time():
        is_read.set()
        is_told.wait(1)
        return timezone.now()

    def tell():
        assert is_read.wait(10)
        take(payment, case_number=dispute.case_number, status=Status.LOST)
        is_told.set()

    with racers(2) as line:
        results = line.race(partial(answers.submit, dispute.pk, actor=ACTOR, clock=read_time), tell)

    assert failures(results) == []
    dispute.refresh_from_db()
    assert dispute.status == "lost"
    assert dispute.answer is not None


def test_two_files_with_one_case(business, tmp_path):
    now = timezone.now()
    with racers(2) as line:
        for number in range(ROUNDS):
            payment = paid(business)
            files = []
            for status in ("needs_response", "lost"):
                file = file_of(tmp_path, row(payment, case_number=f"CB-{number}", status=status))
                files.append(report_format.read(file.read_bytes()))
            account = report_files.Account(payment.connector, payment.account)

            results = line.race(
                *[
                    lambda rows=rows, account=account: list(
                        report_files.take_rows(rows, account, source="told.csv", now=now)
                    )
                    for rows in files
                ]
            )

            assert failures(results) == []
            assert Dispute.objects.get(transaction=payment).status == "lost"
            assert DisputeReport.objects.filter(dispute__transaction=payment).count() == 2


def test_one_file_twice(business):
    with racers(4) as line:
        for _ in range(ROUNDS):
            payment = paid(business)
            said = told(payment)

            results = line.race(*[partial(intake.take, said, now=timezone.now())] * 4)

            assert len({each.pk for each in results}) == 1
            assert Dispute.objects.get(transaction=payment).steps.count() == 1


def test_refund_or_dispute(business):
    """Never both of the whole amount, unless the refund came first and the dispute says so."""
    with racers(2) as line:
        for _ in range(ROUNDS):
            payment = paid(business)
            asked = {"reference": orders.new_reference("rf"), "amount": AMOUNT}
            refund = partial(refunds.refund, transaction=payment, request=asked, now=timezone.now())

            refunded, report = line.race(refund, partial(take, payment))

            payment.refresh_from_db()
            assert not isinstance(report, Exception), report
            was_refunded = payment.amount_refunded == AMOUNT
            assert was_refunded != isinstance(refunded, Problem), refunded
            assert Dispute.objects.get(transaction=payment).already_refunded == was_refunded


def test_fifty_uploads_against_the_limit_of_ten(business):
    dispute = disputed(paid(business))

    with racers(50) as line:
        results = line.race(
            *[
                partial(
                    evidence.add_file,
                    dispute.pk,
                    kind="receipt",
                    name=f"{number}.png",
                    content=PNG + bytes([number]),
                    actor=ACTOR,
                    now=timezone.now(),
                )
                for number in range(50)
            ]
        )

    assert Counter(type(each).__name__ for each in results) == {"DisputeEvidence": 10, "InvalidState": 40}
    for file in DisputeFile.objects.select_related("evidence"):
        assert file.evidence.sha256 == hashlib.sha256(bytes(file.content)).hexdigest()
    assert DisputeFile.objects.count() == 10


def test_two_decisions_about_one_report(business, settings):
    """A credit and a dismissal: the money leaves suspense once."""
    settings.FOUR_EYES = False
    person = UserFactory(is_staff=True, is_superuser=True)
    with racers(2) as line:
        for _ in range(ROUNDS):
            payment = paid(business)
            disputed(payment)
            take(payment, status=Status.LOST)
            report = take(payment, status=Status.WON)
            decisions = [make(report, reason="x") for make in (unmatched.credit, unmatched.dismissal)]

            results = line.race(
                *[
                    partial(four_eyes.submit, each, user=person, actor=ACTOR, now=timezone.now())
                    for each in decisions
                ]
            )

            assert len(failures(results)) == 1, results
            assert Entry.objects.filter(kind="suspense_out", cause=report.pk).count() == 1


def test_assignment_while_the_file_is_read_again(business, settings):
    """The payment succeeded after the first reading: the report gets one dispute."""
    settings.FOUR_EYES = False
    person = UserFactory(is_staff=True, is_superuser=True)
    with racers(2) as line:
        for _ in range(ROUNDS):
            payment = paid(business)
            said = told(payment)
            Transaction.objects.filter(pk=payment.pk).update(retrieval_reference_number="0" * 12)
            report = intake.take(said, now=timezone.now())
            assert report.is_open
            Transaction.objects.filter(pk=payment.pk).update(retrieval_reference_number=said.rrn)
            decision = unmatched.assignment(report, payment, reason="x")

            results = line.race(
                partial(four_eyes.submit, decision, user=person, actor=ACTOR, now=timezone.now()),
                partial(intake.take, said, now=timezone.now()),
            )

            assert all(isinstance(each, InvalidState) for each in failures(results)), results
            assert Dispute.objects.get(transaction=payment).steps.count() == 1
            report.refresh_from_db()
            assert report.dispute is not None


def test_two_stages_of_an_unknown_case_assigned_to_different_payments(business, settings):
    """One payment has the case; the other assignment is refused."""
    settings.FOUR_EYES = False
    person = UserFactory(is_staff=True, is_superuser=True)
    with racers(2) as line:
        for number in range(ROUNDS):
            payments = [paid(business), paid(business)]
            said = [
                told(payments[0], case_number=f"CB-{number}", rrn="", stage=stage)
                for stage in (Stage.CHARGEBACK, Stage.PRE_ARBITRATION)
            ]
            reports = [intake.take(each, now=timezone.now()) for each in said]
            decisions = [
                unmatched.assignment(report, payment, reason="x")
                for report, payment in zip(reports, payments, strict=True)
            ]

            results = line.race(
                *[
                    partial(four_eyes.submit, each, user=person, actor=ACTOR, now=timezone.now())
                    for each in decisions
                ]
            )

            assert [type(each) for each in failures(results)] == [intake.BelongsElsewhere], results
            assert Dispute.objects.filter(case_number=f"CB-{number}").count() == 1


def test_first_report_of_a_case_while_another_stage_is_assigned_to_another_payment(
    business, settings, monkeypatch
):
    """Both find that the case is unknown, and only one of the payments gets it."""
    settings.FOUR_EYES = False
    person = UserFactory(is_staff=True, is_superuser=True)
    open_dispute, both = moves.open_dispute, threading.Barrier(2, timeout=10)

    def open_together(dispute, *, now):
        both.wait()
        return open_dispute(dispute, now=now)

    monkeypatch.setattr(moves, "open_dispute", open_together)
    with racers(2) as line:
        for number in range(ROUNDS):
            named, chosen = paid(business), paid(business)
            unknown = told(named, case_number=f"CB-{number}", rrn="", stage=Stage.PRE_ARBITRATION)
            decision = unmatched.assignment(intake.take(unknown, now=timezone.now()), chosen, reason="x")

            results = line.race(
                partial(four_eyes.submit, decision, user=person, actor=ACTOR, now=timezone.now()),
                partial(take, named, case_number=f"CB-{number}"),
            )

            dispute = Dispute.objects.get(case_number=f"CB-{number}")
            if dispute.transaction == named:
                assert [type(each) for each in failures(results)] == [InvalidState], results
            else:
                assert (results[1].why, results[1].is_open) == ("several_payments", True), results


def test_report_is_read_again_while_another_stage_is_assigned(business, monkeypatch):
    """The payment that the report names was found before another one got the case."""
    named, chosen = paid(business), paid(business)
    said = told(named, case_number="CB-1")
    find = intake._payment_of

    def found_late(read):
        found = find(read)
        monkeypatch.setattr(intake, "_payment_of", find)
        disputed(chosen, case_number="CB-1", stage=Stage.INQUIRY)
        return found

    monkeypatch.setattr(intake, "_payment_of", found_late)
    report = intake.take(said, now=timezone.now())

    assert (report.why, report.is_open) == ("several_payments", True)
    assert intake.take(said, now=timezone.now()).dispute.transaction == chosen
