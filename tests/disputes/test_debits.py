"""Staff record that the acquirer has debited a dispute, by two people, where no statement says so."""

from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from disputes.models import Dispute, DisputeStep
from ledger.invariants import check
from ledger.models import Account
from merchants.models import AuditEntry
from payments.invariants.registry import INVARIANTS
from payments.models import Proposal
from payments.rules.words.dispute_words import Stage, Status
from payments.services.staff.meanings import meaning_of
from tests.disputed import disputed, take
from tests.racing import racers

pytestmark = pytest.mark.django_db

TITLE = "Record the acquirer&#x27;s debit"


@pytest.fixture(autouse=True)
def _two_people(settings):
    settings.FOUR_EYES = True


def page(dispute, what="change"):
    return f"/admin/disputes/dispute/{dispute.pk}/{what}/"


def record(browser, dispute):
    answer = browser.post(page(dispute, "record_debit"), {"reason": "Told by phone"}, follow=True)
    return answer.content.decode()


def confirm(browser):
    proposal = Proposal.objects.latest("created_at")
    return browser.post(f"/admin/payments/proposal/{proposal.pk}/confirm/", follow=True).content.decode()


def clearing():
    return Account.objects.get(kind="chargeback_clearing").balance


class TestPage:
    def test_records_the_debit_by_two_people(self, people, payment):
        dispute = disputed(payment)
        assert TITLE in people[0].get(page(dispute)).content.decode()

        assert "awaits another person" in record(people[0], dispute)
        assert "The acquirer has debited NGN 500.00" in meaning_of(Proposal.objects.get())
        assert "Another person must confirm" in confirm(people[0])
        assert Dispute.objects.get().debited_at is None
        confirm(people[1])

        assert DisputeStep.objects.get(kind="debited").actor == Proposal.objects.get().decided_by.email
        assert clearing() == -50_000
        assert AuditEntry.objects.get(action="dispute.debited").after["reason"] == "Told by phone"
        assert TITLE not in people[0].get(page(dispute)).content.decode()
        assert [each.invariant.name for each in check(INVARIANTS) if not each.holds] == []

    def test_isnt_offered_for_what_wasnt_debited(self, people, payment):
        won = disputed(payment)
        take(payment, status=Status.WON)

        assert TITLE not in people[0].get(page(won)).content.decode()
        assert "Nothing of this dispute was debited" in record(people[0], won)

    def test_isnt_offered_for_an_inquiry(self, people, payment):
        inquiry = disputed(payment, stage=Stage.INQUIRY)

        assert TITLE not in people[0].get(page(inquiry)).content.decode()
        assert "Nothing of this dispute was debited" in record(people[0], inquiry)

    def test_is_refused_if_the_dispute_was_lost_in_part_meanwhile(self, people, payment):
        dispute = disputed(payment)
        record(people[0], dispute)
        take(payment, status=Status.LOST, outcome_amount=10_000)

        assert "has changed" in confirm(people[1])
        assert not DisputeStep.objects.filter(kind="debited").exists()


class TestCommand:
    run = partial(call_command, "record_dispute_debit", stdout=StringIO())

    def test_is_refused_where_two_people_decide(self, payment):
        dispute = disputed(payment)

        with pytest.raises(CommandError, match="FOUR_EYES is on"):
            self.run("--case", dispute.case_number)

    def test_records_and_audits_the_debit(self, payment, settings):
        settings.FOUR_EYES = False
        dispute = disputed(payment)

        for _ in range(2):
            self.run("--case", dispute.case_number, "--by", "ada@example.com")

        assert AuditEntry.objects.get(action="dispute.debited").actor == "ada@example.com"
        assert clearing() == -50_000


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_line_and_staff_record_one_debit(people, payment):
    dispute = disputed(payment)
    record(people[0], dispute)
    record_it = partial(confirm, people[1])

    with racers(2) as threads:
        threads.race(record_it, record_it)

    assert DisputeStep.objects.filter(kind="debited").count() == 1
