"""Debits of disputes on an acquirer's statement: recorded by their line, or by staff, and given back."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from cash.models import Break, MatchedItem
from disputes.models import Dispute, DisputeStep
from disputes.services.reports import unmatched
from ledger.invariants import check
from ledger.models import Account
from merchants.people.audit import Actor
from payments.invariants.registry import INVARIANTS
from payments.rules.words.dispute_words import Stage, Status
from payments.services.reconciliation import breaks
from payments.services.staff import four_eyes
from tests.bank_statements import MAPPING, bank_account, csv_statement, import_statement
from tests.disputed import disputed, take
from tests.factories import UserFactory
from tests.settling import today

pytestmark = pytest.mark.django_db


@pytest.fixture
def acquirer(payment):
    return bank_account(
        name="acquirer",
        kind="acquirer",
        connector_account=payment.account,
        receives=[payment.connector],
        csv_mapping=MAPPING | {"kind": "Kind"},
    )


@pytest.fixture
def told(tmp_path, acquirer):
    """Return a function that imports lines (amount, reference) of the acquirer."""
    opened = [0]

    def tell(*lines):
        day, opening = today(), opened[0]
        content = csv_statement(*((day, *line) for line in lines), opening=f"{opening / 100:.2f}")
        opened[0] += sum(amount for amount, _ in lines)
        import_statement(
            tmp_path, content.replace("Narration", "Kind,Narration").replace("\n", ",\n"), account="acquirer"
        )

    return tell


def house(kind):
    return sum(Account.objects.filter(kind=kind).values_list("balance", flat=True))


def matched():
    return sorted(MatchedItem.objects.values_list("kind", "amount"))


def test_line_of_a_lost_dispute_records_the_debit(payment, told):
    dispute = disputed(payment)
    take(payment, status=Status.LOST)

    told((50_000, payment.retrieval_reference_number), (-50_000, dispute.case_number))

    assert matched() == [("dispute", -50_000), ("payment", 50_000)]
    assert Dispute.objects.get().debited_at is not None
    assert DisputeStep.objects.filter(kind="debited", actor="reconciliation").count() == 1
    assert (house("acquirer_receivable"), house("refunds_payable"), house("acquirer")) == (0, 0, 0)


def test_debit_of_an_open_dispute_is_expected_back_when_it_is_won(payment, told, acquirer):
    dispute = disputed(payment)
    told((50_000, payment.retrieval_reference_number), (-50_000, dispute.case_number))
    assert house("chargeback_clearing") == -50_000

    take(payment, status=Status.WON)
    told((50_000, dispute.case_number))

    assert matched() == [("dispute", -50_000), ("dispute_back", 50_000), ("payment", 50_000)]
    assert not Break.objects.filter(ended_at=None).exists()
    assert (house("chargeback_clearing"), house("acquirer_receivable"), house("acquirer")) == (0, 0, -50_000)


class TestMoneyGivenBackInParts:
    """A debit of which the acquirer gives back one part when the case ends, and another one after staff credited it."""

    @pytest.fixture
    def lines(self, payment, told):
        dispute = disputed(payment)
        told((50_000, payment.retrieval_reference_number), (-50_000, dispute.case_number))
        return lambda *amounts: told(*((amount, dispute.case_number) for amount in amounts))

    def test_is_expected_part_by_part(self, payment, lines):
        take(payment, status=Status.WON, outcome_amount=20_000)
        lines(20_000)
        corrected(payment, 50_000)

        lines(30_000)

        assert matched()[1:3] == [("dispute_back", 20_000), ("dispute_back", 30_000)]
        assert not Break.objects.filter(ended_at=None).exists()
        assert (house("acquirer_receivable"), house("refunds_payable")) == (0, 0)
        assert broken() == []

    def test_is_expected_after_each_correction(self, payment, lines):
        take(payment, status=Status.LOST)
        for amount in (20_000, 50_000):
            corrected(payment, amount)

        lines(20_000, 30_000)

        assert matched()[1:3] == [("dispute_back", 20_000), ("dispute_back", 30_000)]
        assert not Break.objects.filter(ended_at=None).exists()

    def test_is_not_expected_of_what_was_never_debited(self, payment, told):
        """Only what was lost is debited if the acquirer debits the case after its end."""
        take(payment, status=Status.WON, outcome_amount=20_000)
        case = Dispute.objects.get().case_number
        told((50_000, payment.retrieval_reference_number), (-30_000, case))
        corrected(payment, 40_000)

        told((20_000, case))

        assert matched()[:2] == [("dispute", -30_000), ("dispute_back", 20_000)]
        assert not Break.objects.filter(ended_at=None).exists()


class TestStatementAfterTheEnd:
    """It has all that was debited while the case was open, and what was given back since."""

    @pytest.fixture
    def case(self, payment):
        return disputed(payment).case_number

    def told_later(self, told, payment, case):
        told((50_000, payment.retrieval_reference_number), (-50_000, case), (20_000, case))
        breaks.update_all(now=timezone.now())  # the debit was matched; what came back of it follows

    def test_before_a_part_was_won(self, payment, case, told):
        record("--case", case)
        take(payment, status=Status.WON, outcome_amount=20_000)

        self.told_later(told, payment, case)

        assert matched() == [("dispute", -50_000), ("dispute_back", 20_000), ("payment", 50_000)]
        assert not Break.objects.filter(ended_at=None).exists()

    def test_is_found_if_none_recorded_it(self, payment, case, told):
        take(payment, status=Status.WON, outcome_amount=20_000)

        self.told_later(told, payment, case)

        assert matched() == [("dispute", -50_000), ("dispute_back", 20_000), ("payment", 50_000)]
        assert not Break.objects.filter(ended_at=None).exists()
        assert (house("acquirer_receivable"), house("refunds_payable")) == (0, 0)

    def test_before_a_correction(self, payment, case, told):
        take(payment, status=Status.LOST)
        record("--case", case)
        corrected(payment, 20_000)

        self.told_later(told, payment, case)

        assert matched() == [("dispute", -50_000), ("dispute_back", 20_000), ("payment", 50_000)]
        assert not Break.objects.filter(ended_at=None).exists()


def corrected(payment, amount):
    """Have the acquirer contradict how the dispute ended, and staff credit what it gives back."""
    report = take(payment, status=Status.WON, outcome_amount=amount)
    action, person = unmatched.credit(report, reason="x"), UserFactory()
    four_eyes.submit(action, user=person, actor=Actor(name="test"), now=timezone.now())


def broken():
    return [one.invariant.name for one in check(INVARIANTS) if not one.holds]


def record(*options):
    out = StringIO()
    call_command("record_dispute_debit", *options, stdout=out)
    return out.getvalue().strip()


def test_staff_record_a_debit_once(payment):
    case = disputed(payment).case_number
    take(payment, status=Status.LOST)

    assert record("--case", case) == f"{case}: NGN 500.00 recorded."
    assert record("--case", case) == f"{case}: NGN 500.00 was recorded before."
    assert (house("refunds_payable"), DisputeStep.objects.filter(kind="debited").count()) == (0, 1)


def test_what_was_won_or_is_unknown_is_refused(payment):
    case = disputed(payment).case_number
    take(payment, status=Status.WON)

    for named, why in ((case, "nothing of it was lost"), ("CB-0", "There is no such dispute")):
        with pytest.raises(CommandError, match=why) as refused:
            record("--case", named)
        assert refused.value.returncode == 2


class TestLineOfACaseOfTwoStages:
    """A chargeback that was won without a debit, and a later stage of its case."""

    @pytest.fixture
    def later(self, payment):
        disputed(payment)
        take(payment, status=Status.WON)
        return disputed(payment, stage=Stage.PRE_ARBITRATION)

    def test_is_of_the_later_stage(self, payment, told, later):
        take(payment, stage=Stage.PRE_ARBITRATION, status=Status.LOST)

        told((50_000, payment.retrieval_reference_number), (-50_000, later.case_number))

        assert Dispute.objects.exclude(debited_at=None).get().stage == Stage.PRE_ARBITRATION
        assert not MatchedItem.objects.filter(kind="dispute").exclude(item=later.pk).exists()
        assert (house("acquirer_receivable"), house("refunds_payable"), house("acquirer")) == (0, 0, 0)
        assert not Break.objects.filter(ended_at=None).exists()

    def test_is_of_the_later_stage_while_that_is_open(self, payment, told, later):
        told((50_000, payment.retrieval_reference_number), (-50_000, later.case_number))

        assert MatchedItem.objects.get(kind="dispute").item == later.pk
        assert house("chargeback_clearing") == -50_000

    def test_is_of_the_earlier_stage_if_it_was_booked_before_the_later_one(self, payment, told, later):
        Dispute.objects.filter(pk=later.pk).update(created_at=timezone.now() + timedelta(days=1))

        told((50_000, payment.retrieval_reference_number), (-50_000, later.case_number))
        told((50_000, later.case_number))

        assert MatchedItem.objects.get(kind="dispute").item == later.previous_id
        end = DisputeStep.objects.get(dispute=later.previous, kind="closed")
        assert MatchedItem.objects.get(kind="dispute_back").item == end.pk
