"""Journals about breaks, and top-ups that name a bank account."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.core import mail
from django.db import connection, transaction
from django.utils import timezone
from freezegun import freeze_time

from cash.models import Break, Match
from disputes.models import Dispute
from kit.api.errors import Problem
from ledger.invariants import check
from ledger.models import Account
from ledger.services import Kind
from merchants.models import Member
from payments.invariants.registry import INVARIANTS
from payments.models import Journal, JournalLeg
from payments.rules.settlement.business_days import business_day
from payments.rules.words.dispute_words import Status
from payments.services.journals.drafts import Leg
from payments.services.reconciliation import breaks, report
from payments.services.reconciliation.arrivals import arrived
from payments.services.reconciliation.ledger_line import due_on
from payments.services.staff import staff_actions
from payments.services.staff.actions import journal_actions
from tests.bank_statements import bank_account, csv_statement, import_statement
from tests.disputed import disputed, payment_of, take
from tests.factories import MemberFactory
from tests.journals import adjusted, debited_by_staff
from tests.orders import payout
from tests.racing import racers
from tests.settling import today
from tests.wallets import STAFF, fill_wallet

pytestmark = pytest.mark.django_db


def line(folder, amount, reference="X1"):
    """Import a statement of one line, and return the break that it leaves, if any."""
    account = bank_account(receives=["top_ups"])
    import_statement(folder, csv_statement((today(), amount, reference)))
    return account, Break.objects.filter(ended_at=None).first()


def explain(found, *legs, **changes):
    about = {"legs": legs, "transaction": None, "explained": found}
    return adjusted(None, 0, **about | changes)


def house(kind):
    return Account.objects.get(business=None, currency="NGN", kind=kind).balance


def balance(business, kind):
    return Account.objects.get(business=business, currency="NGN", kind=kind).balance


def broken():
    return [each.invariant.name for each in check(INVARIANTS) if not each.holds]


class TestBreak:
    def test_unknown_line_becomes_a_cost(self, tmp_path):
        account, found = line(tmp_path, -500)

        explain(found, Leg(Kind.BANK, "gtbank", 500), Leg(Kind.COSTS, "transfer", -500))

        found.refresh_from_db()
        assert (found.ended_by, found.journal.code) == (Break.End.JOURNAL, "correction")
        assert Account.objects.get(kind="bank").balance == -99_500
        match = Match.objects.get()
        assert (match.lines.get().line.amount, match.items.get().amount) == (-500, -500)
        assert breaks.update(account, now=timezone.now()) == 0
        assert not Break.objects.filter(ended_at=None).exists()

    @pytest.mark.parametrize("amount", [-499, 501])
    def test_another_amount_is_refused(self, tmp_path, amount):
        _, found = line(tmp_path, -500)

        with pytest.raises(Problem, match=r"a credit of NGN 5.00 on bank gtbank"):
            explain(found, Leg(Kind.BANK, "gtbank", amount), Leg(Kind.COSTS, "transfer", -amount))

        assert not Journal.objects.exists()

    def test_payments_of_a_day_that_never_came_are_written_off(self, api):
        """Their money hasn't arrived: their batch needs the exception."""
        paid, account = payment_of(api), bank_account(receives=["sandbox"])
        breaks.update(account, now=timezone.now() + timedelta(days=9))
        found = Break.objects.get()
        assert (found.kind, found.item_kind) == ("missing", "card_day")

        explain(found, Leg(Kind.BANK, "gtbank", 50_000), Leg(Kind.WRITE_OFFS, "", -50_000), code="write_off")

        found.refresh_from_db()
        assert found.ended_by == Break.End.JOURNAL
        assert {each.kind for each in Match.objects.get().items.all()} == {"journal", "payment"}
        assert (house("acquirer_receivable"), house("bank_clearing"), house("write_offs")) == (
            50_000,
            0,
            -50_000,
        )
        assert arrived([paid.pk]) == set()
        assert breaks.update(account, now=timezone.now() + timedelta(days=9)) == 0
        assert not Break.objects.filter(ended_at=None).exists()
        assert broken() == []

    def test_payments_of_a_day_with_another_sum_are_explained(self, api, tmp_path):
        paid = payment_of(api)
        account = bank_account(receives=["sandbox"])
        with freeze_time(timezone.now() + timedelta(days=7)):
            due = due_on(business_day(paid.finished_at))
            import_statement(tmp_path, csv_statement((due, 49_000, "X1", "SANDBOX SETTLEMENT")))
            found = Break.objects.get()
            assert found.kind == "differs"

            explain(found, Leg(Kind.BANK, "gtbank", 1_000), Leg(Kind.COSTS, "provider", -1_000), code="cost")

            assert breaks.update(account, now=timezone.now()) == 0
        assert arrived([paid.pk]) == {paid.pk}
        assert broken() == []

    def test_lost_dispute_that_was_never_debited_is_explained(self, api):
        paid = payment_of(api)
        disputed(paid)
        take(paid, status=Status.LOST)
        account = bank_account(
            name="acquirer", kind="acquirer", connector_account=paid.account, receives=[paid.connector]
        )
        later = timezone.now() + timedelta(days=9)
        breaks.update(account, now=later)
        found = Break.objects.get(item_kind="dispute")

        explain(found, Leg(Kind.ACQUIRER, paid.account, -50_000), Leg(Kind.WRITE_OFFS, "", 50_000))

        assert Dispute.objects.get().debited_at is not None
        breaks.update(account, now=later)
        assert [each.item_kind for each in Break.objects.filter(ended_at=None)] == ["payment"]
        assert broken() == []

    def test_that_has_ended_is_refused(self, tmp_path):
        _, found = line(tmp_path, -500)
        legs = Leg(Kind.BANK, "gtbank", 500), Leg(Kind.COSTS, "transfer", -500)
        explain(found, *legs)

        with pytest.raises(Problem, match="has ended"):
            explain(Break.objects.get(pk=found.pk), *legs)


class TestBalance:
    @pytest.fixture(autouse=True)
    def subject(self, api):
        return payment_of(api)

    def test_of_a_wallet_isnt_taken_below_zero(self, ada):
        fill_wallet(ada.business, 9_999)

        with pytest.raises(Problem, match="the wallet of the business below zero"):
            adjusted(ada.business, -10_000)

        assert Journal.objects.count() == 1

    def test_of_a_business_that_owes_is_taken_below_zero_by_a_recovery(self, ada):
        fill_wallet(ada.business, 9_999)

        adjusted(ada.business, -10_000, code=Journal.Code.RECOVERY)

        assert balance(ada.business, "wallet") == -1

    def test_that_was_paid_out_is_taken_below_zero_by_a_reversal(self, ada):
        fill_wallet(ada.business, 50_000)
        journal = Journal.objects.get()
        adjusted(ada.business, -50_000)

        undo(journal)

        assert balance(ada.business, "wallet") == -50_000

    def test_of_pending_settlement_isnt_credited(self, ada):
        legs = Leg(Kind.PENDING_SETTLEMENT, "", 500), Leg(Kind.WRITE_OFFS, "", -500)

        with pytest.raises(Problem, match="No settlement pays out"):
            adjusted(ada.business, 0, legs=legs)

    def test_of_pending_settlement_gets_back_what_a_journal_took(self, ada):
        before = balance(ada.business, "pending_settlement")
        legs = Leg(Kind.PENDING_SETTLEMENT, "", -500), Leg(Kind.WALLET, "", 500)
        journal = adjusted(ada.business, 0, legs=legs)
        assert balance(ada.business, "pending_settlement") == before - 500

        undo(journal)

        assert balance(ada.business, "pending_settlement") == before


class TestStatement:
    def test_leg_of_a_bank_account_is_expected_on_it(self, tmp_path, ada):
        account = bank_account()
        fill_wallet(ada.business, 50_000, bank_account="gtbank")
        import_statement(tmp_path, csv_statement((today(), 50_000, "NIP-7")))

        assert Match.objects.get().items.get().kind == "top_up"
        assert Account.objects.get(kind="bank").balance == -150_000
        assert breaks.update(account, now=timezone.now()) == 0

    @pytest.mark.parametrize(("days", "left"), [(35, []), (36, ["unknown"])])
    def test_line_that_staff_saw_before_the_top_up_is_the_top_up(self, tmp_path, ada, days, left):
        account, seen = bank_account(), today() - timedelta(days=days)
        import_statement(tmp_path, csv_statement((seen, 50_000, "NIP-7")))

        fill_wallet(ada.business, 50_000, bank_account="gtbank")

        breaks.update(account, now=timezone.now())
        assert list(Break.objects.filter(ended_at=None).values_list("kind", flat=True)) == left

    def test_money_moved_between_our_banks_is_explained_by_one_journal(self, tmp_path):
        """The other bank's line was on its statement before."""
        seen = today() - timedelta(days=3)
        gtbank, wema = bank_account(), bank_account(name="wema", number="8200114063")
        import_statement(tmp_path, csv_statement((seen, -5_000, "G1")))
        import_statement(tmp_path, csv_statement((seen, 5_000, "W1")), account="wema")

        explain(
            Break.objects.get(account=gtbank),
            Leg(Kind.BANK, "gtbank", 5_000),
            Leg(Kind.BANK, "wema", -5_000),
        )

        assert breaks.update(wema, now=timezone.now()) == 1
        assert not Break.objects.filter(ended_at=None).exists()

    def test_reversed_before_its_line_expects_none(self, tmp_path, ada):
        account = bank_account()
        fill_wallet(ada.business, 50_000, bank_account="gtbank")
        undo(Journal.objects.get())

        later = timezone.now() + timedelta(days=9)
        breaks.update(account, now=later)

        assert not Break.objects.exists()
        assert sum(item.amount for item in Match.objects.get().items.all()) == 0

    def test_reversed_while_its_line_differs_leaves_the_line_unknown(self, tmp_path, ada):
        account = bank_account()
        fill_wallet(ada.business, 50_000, bank_account="gtbank")
        import_statement(tmp_path, csv_statement((today(), 50_007, "Opening balance")))

        undo(Journal.objects.get())

        found = Break.objects.get(ended_at=None)
        assert (found.kind, found.bank_amount, found.ledger_amount) == ("unknown", 50_007, 0)
        assert all(each.difference == each.explained for each in report.balances_now())
        breaks.update(account, now=timezone.now())
        assert Break.objects.get(ended_at=None) == found

    def test_reversed_after_its_line_expects_the_way_back(self, tmp_path, ada):
        account = bank_account()
        fill_wallet(ada.business, 50_000, bank_account="gtbank")
        import_statement(tmp_path, csv_statement((today(), 50_000, "NIP-7")))
        undo(Journal.objects.get())

        breaks.update(account, now=timezone.now() + timedelta(days=9))

        assert Break.objects.get(ended_at=None).ledger_amount == -50_000


@transaction.atomic
def undo(journal):
    action = journal_actions.reversal(journal, reason="Not theirs", journal_id=uuid4())
    staff_actions.perform(action, actor=STAFF, now=timezone.now())


class TestDebit:
    def test_is_mailed_to_owners_and_finance(self, ada, api, django_capture_on_commit_callbacks):
        for role in (Member.Role.OWNER, Member.Role.FINANCE, Member.Role.DEVELOPER):
            MemberFactory(business=ada.business, role=role, user__email=f"{role}@example.com")
        fill_wallet(ada.business, 600_000)
        api.post("/api/payments", payout())

        with django_capture_on_commit_callbacks(execute=True):
            debited_by_staff(ada.business)

        (sent,) = mail.outbox
        assert sorted(sent.to) == ["finance@example.com", "owner@example.com"]
        assert "NGN 100.00" in sent.subject
        assert "Reason: Recovery: Fee charged twice" in sent.body


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
@pytest.mark.django_db(transaction=True)
class TestRaces:
    def race(self, act):
        def attempt():
            try:
                act()
            except Problem:
                return False
            return True

        with racers(4) as line_of:
            assert sorted(line_of.race(*[attempt] * 4)) == [False, False, False, True]

    def test_a_journal_is_reversed_once(self, ada):
        fill_wallet(ada.business, 50_000)
        journal = Journal.objects.get()

        self.race(lambda: undo(journal))

        assert JournalLeg.objects.count() == 4

    def test_a_break_is_explained_once(self, tmp_path):
        _, found = line(tmp_path, -500)
        legs = Leg(Kind.BANK, "gtbank", 500), Leg(Kind.COSTS, "transfer", -500)

        self.race(lambda: explain(found, *legs))

        assert Match.objects.count() == 1
