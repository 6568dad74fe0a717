"""Journals: corrections of accounts that one person proposes and another books."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Sum

from ledger.invariants import check
from ledger.models import Account, Entry
from merchants.models import AuditEntry
from payments.invariants.registry import INVARIANTS
from payments.models import Journal, JournalLeg, Proposal, Transaction
from tests import orders
from tests.bank_statements import bank_account
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db

ADD = "/admin/payments/journal/add/"


@pytest.fixture(autouse=True)
def _one_person_at_first(settings):
    settings.FOUR_EYES = False


@pytest.fixture
def paid(api, ada):
    """Return a payout of Ada's, whose wallet has NGN 4,990.00 left of 6,000.00."""
    fill_wallet(ada.business, 600_000)
    api.post("/api/payments", orders.payout(amount=100_000))
    return Transaction.objects.get()


def form(business, *legs, **changes):
    """Return a journal of legs (account, amount): positive for a credit."""
    rows = {}
    for number, (account, amount) in enumerate(legs, 1):
        side = "credit" if amount > 0 else "debit"
        rows |= {f"account_{number}": account, f"{side}_{number}": f"{abs(amount) / 100:.2f}"}
    about = {"about_entry": "", "about_transaction": "", "about_break": "", "other_business": ""}
    named = {"code": "correction", "text": "Fee charged twice", "currency": "NGN", "key": uuid4()}
    return named | about | rows | {"business": business.pk if business else ""} | changes


def corrections():
    """Return the journals that aren't top-ups."""
    return Journal.objects.exclude(code="funding")


def balance(kind, business=None, name=""):
    return Account.objects.get(kind=kind, business=business, name=name, currency="NGN").balance


def cleared():
    """Return what banks haven't confirmed: bank clearing of all businesses and the house."""
    return Account.objects.filter(kind="bank_clearing").aggregate(sum=Sum("balance"))["sum"]


def broken():
    return [(each.invariant.name, each.broken) for each in check(INVARIANTS) if not each.holds]


def confirm(browser):
    proposal = Proposal.objects.get(state="open")
    return browser.post(f"/admin/payments/proposal/{proposal.pk}/confirm/", follow=True).content.decode()


class TestBooking:
    def test_second_person_sees_balances_and_books_both_sides(self, ones, paid, ada, settings):
        settings.FOUR_EYES = True
        first, second = ones
        legs = ("wallet", 10_000), ("write_offs", -10_000)
        first.post(ADD, form(ada.business, *legs, about_transaction=paid.pk))
        assert not corrections().exists()

        shown = second.get(f"/admin/payments/proposal/{Proposal.objects.get().pk}/change/").content.decode()
        assert "Credit wallet NGN 100.00. Debit write-offs NGN 100.00." in shown
        for amount in ("NGN 4,990.00", "NGN 5,090.00", "\u2212NGN 100.00"):
            assert f"<td>{amount}</td>" in shown
        assert "confirmed and performed" in confirm(second)

        journal = corrections().get()
        assert (journal.code, journal.transaction, journal.booked_by) == (
            "correction",
            paid,
            AuditEntry.objects.get(action="journal.booked").actor,
        )
        assert balance("wallet", ada.business) == 509_000
        assert balance("write_offs") == -10_000
        assert Account.objects.get(kind="bank_clearing", business=None).balance == 10_000
        assert broken() == []

    def test_is_in_the_wallet_statement_with_its_reason(self, ones, paid, ada, api):
        legs = ("wallet", -10_000), ("costs:transfer", 10_000)

        ones[0].post(ADD, form(ada.business, *legs, code="recovery", about_transaction=paid.pk))

        movement = api.get("/api/balance/movements").json()["data"][0]
        assert (movement["kind"], movement["amount"]) == ("journal", -10_000)
        assert movement["reason"] == "Recovery: Fee charged twice"
        assert movement["reference"] == str(corrections().get().pk)

    def test_between_house_accounts_belongs_to_no_business(self, ones, paid):
        bank_account()
        entry = Entry.objects.filter(kind="payout_sent").get()

        ones[0].post(
            ADD,
            form(
                None, ("bank:gtbank", 5_000), ("costs:scheme", -4_000), ("costs:provider", -1_000),
                code="cost", about_entry=entry.pk,
            ),
        )  # fmt: skip

        assert corrections().get().business is None
        assert balance("costs", name="scheme") == -4_000
        assert balance("bank", name="gtbank") == 0  # until a statement has it
        assert broken() == []

    def test_form_sent_twice_books_once(self, ones, paid, ada):
        sent = form(ada.business, ("wallet", 10_000), ("write_offs", -10_000), about_transaction=paid.pk)
        ones[0].post(ADD, sent)

        assert "already booked" in ones[0].post(ADD, sent).content.decode()
        assert corrections().count() == 1

    def test_moves_money_between_two_businesses(self, ones, paid, ada, bisi, settings):
        settings.FOUR_EYES = True
        first, second = ones
        legs = ("wallet", -10_000), ("other:wallet", 9_000), ("costs:transfer", 1_000)
        sent = form(ada.business, *legs, other_business=bisi.business.pk, about_transaction=paid.pk)
        before = cleared()

        first.post(ADD, sent)

        # A process of the release before, while a deployment replaces it, finds no legs and refuses the journal.
        stored = Proposal.objects.get().parameters
        assert (stored["legs"], len(stored["pair"])) == ([], 3)
        shown = second.get(f"/admin/payments/proposal/{Proposal.objects.get().pk}/change/").content.decode()
        assert "Credit wallet of the other business NGN 90.00." in shown
        assert f"The other business is {bisi.business.name}." in shown
        assert "confirmed and performed" in confirm(second)
        assert (balance("wallet", ada.business), balance("wallet", bisi.business)) == (489_000, 9_000)
        assert balance("costs", name="transfer") == 1_000
        assert cleared() == before
        pair = Journal.objects.get(paired_with__isnull=False)
        assert (pair.business, pair.paired_with.business) == (bisi.business, ada.business)
        booked = AuditEntry.objects.filter(action="journal.booked").values_list("business", flat=True)
        assert set(booked) == {ada.business.pk, bisi.business.pk}
        assert broken() == []

    def test_between_two_businesses_sent_twice_books_once(self, ones, paid, ada, bisi):
        legs = ("wallet", -10_000), ("other:wallet", 10_000)
        sent = form(ada.business, *legs, other_business=bisi.business.pk, about_transaction=paid.pk)
        ones[0].post(ADD, sent)

        assert "already booked" in ones[0].post(ADD, sent).content.decode()
        assert balance("wallet", bisi.business) == 10_000

    def test_between_two_businesses_refuses_a_wrong_form(self, ones, paid, bisi):
        into, out = [("wallet", -5), ("other:wallet", 5)], [("wallet", 5), ("other:wallet", -5)]
        house = [("wallet", -5), ("write_offs", 5)]
        for legs, other, why in (
            (into, "", "Choose the other business"),
            (into, paid.business.pk, "The other business is the same one."),
            (house, bisi.business.pk, "Leave the other business empty."),
            (out, bisi.business.pk, "below zero"),
        ):
            sent = form(paid.business, *legs, other_business=other, about_transaction=paid.pk)

            assert why in ones[0].post(ADD, sent).content.decode()
        assert not corrections().exists()

    @pytest.mark.parametrize(
        ("legs", "changes", "why"),
        [
            ([("wallet", 5), ("write_offs", -4)], {}, "Debits are NGN 0.04, but credits are NGN 0.05."),
            ([("wallet", 5)], {}, "A journal has at least two accounts."),
            ([("wallet", 5), ("wallet", -5)], {}, "An account appears twice."),
            ([("wallet", 5), ("bank:nowhere", -5)], {}, "Select a valid choice"),
            ([("wallet", 5), ("write_offs", -5)], {"about_transaction": ""}, "Name the entry, the transaction"),
            ([("wallet", 5), ("write_offs", -5)], {"about_transaction": uuid4()}, "No transaction has this ID."),
            ([("wallet", 5), ("write_offs", -5)], {"about_entry": 999}, "No ledger entry has this number."),
            ([("wallet", 5), ("write_offs", -5)], {"about_break": 999}, "No break has this ID."),
            ([("wallet", 5), ("write_offs", -5)], {"owner": ""}, "Choose the business"),
            ([("costs:scheme", 5), ("write_offs", -5)], {}, "Leave the business empty."),
            ([("wallet", 5), ("write_offs", -5)], {"currency": "USD"}, "What it is about is in NGN."),
            ([("wallet", 5), ("write_offs", -5)], {"code": "funding"}, "Choose another reason"),
            ([("wallet", 5), ("write_offs", -5)], {"debit_1": "1.00"}, "Enter a debit or a credit."),
            ([("wallet", 5), ("write_offs", -5)], {"credit_1": "x"}, "Enter a"),
            ([("suspense", -5), ("write_offs", 5)], {"owner": ""}, "Journals haven&#x27;t put so much into suspense."),
            ([("unapplied", -5), ("wallet", 5)], {}, "Journals haven&#x27;t put so much into unapplied money."),
            ([("acquirer_receivable", 5), ("wallet", -5)], {}, "The acquirer doesn&#x27;t owe so much"),
        ],
    )  # fmt: skip
    def test_wrong_form_books_nothing(self, ones, paid, legs, changes, why):

        business = None if "owner" in changes else paid.business
        answer = ones[0].post(ADD, form(business, *legs, **{"about_transaction": paid.pk} | changes))

        assert why in answer.content.decode()
        assert not corrections().exists()

    def test_balance_that_crossed_zero_is_refused(self, ones, paid, ada, settings):
        settings.FOUR_EYES = True
        first, second = ones
        legs = ("wallet", -10_000), ("write_offs", 10_000)
        first.post(ADD, form(ada.business, *legs, code="recovery", about_transaction=paid.pk))
        fill_wallet(ada.business, -600_000)

        assert "wallet was zero or more, and is below zero now" in confirm(second)
        assert not corrections().exists()

    def test_balance_that_only_moved_is_no_obstacle(self, ones, paid, ada, settings):
        settings.FOUR_EYES = True
        first, second = ones
        legs = ("wallet", -10_000), ("write_offs", 10_000)
        first.post(ADD, form(ada.business, *legs, about_transaction=paid.pk))
        fill_wallet(ada.business, 1)

        assert "confirmed and performed" in confirm(second)


class TestReversal:
    @pytest.fixture
    def journal(self, ones, paid, ada):
        legs = ("wallet", 10_000), ("write_offs", -10_000)
        ones[0].post(ADD, form(ada.business, *legs, about_transaction=paid.pk))
        return corrections().get()

    def reverse(self, browser, journal):
        address = f"/admin/payments/journal/{journal.pk}/reverse/"
        return browser.post(address, {"reason": "Not theirs"}, follow=True).content.decode()

    def test_undoes_every_leg_once(self, ones, journal, ada):
        assert "The journal was reversed." in self.reverse(ones[0], journal)

        assert balance("wallet", ada.business) == 499_000
        assert balance("write_offs") == 0
        assert "already reversed" in self.reverse(ones[0], journal)
        assert "is a reversal" in self.reverse(ones[0], Journal.objects.get(reverses=journal))
        assert broken() == []

    @pytest.mark.parametrize("of_pair", [False, True])
    def test_undoes_both_journals_of_a_pair(self, ones, paid, ada, bisi, of_pair):
        legs = ("wallet", -10_000), ("other:wallet", 9_000), ("costs:transfer", 1_000)
        sent = form(ada.business, *legs, other_business=bisi.business.pk, about_transaction=paid.pk)
        ones[0].post(ADD, sent)
        journal = Journal.objects.get(paired_with__isnull=not of_pair, reverses=None, text=sent["text"])

        assert "The journal was reversed." in self.reverse(ones[0], journal)

        assert (balance("wallet", ada.business), balance("wallet", bisi.business)) == (499_000, 0)
        assert balance("costs", name="transfer") == 0
        assert "already reversed" in self.reverse(ones[0], journal)
        assert Journal.objects.exclude(reverses=None).count() == 2
        assert broken() == []

    def test_needs_a_second_person(self, ones, journal, settings):
        settings.FOUR_EYES = True

        self.reverse(ones[0], journal)

        assert not Journal.objects.filter(reverses=journal).exists()
        assert "confirmed and performed" in confirm(ones[1])
        assert Journal.objects.get(reverses=journal).text == "Not theirs"

    def test_without_a_reason_is_refused(self, ones, journal):
        answer = ones[0].post(f"/admin/payments/journal/{journal.pk}/reverse/", {"reason": ""})

        assert "Enter a reason" in answer.content.decode()
        assert not Journal.objects.filter(reverses=journal).exists()

    def test_database_refuses_a_second_pair(self, journal, bisi):
        pair = {"code": "correction", "currency": "NGN", "business": bisi.business, "at": journal.at}
        Journal.objects.create(id=uuid4(), paired_with=journal, **pair)

        with pytest.raises(IntegrityError), transaction.atomic():
            Journal.objects.create(id=uuid4(), paired_with=journal, **pair)

    def test_database_refuses_a_second_one(self, journal, ones):
        self.reverse(ones[0], journal)

        with pytest.raises(IntegrityError), transaction.atomic():
            Journal.objects.create(
                id=uuid4(), code="cost", text="x", currency="NGN", reverses=journal, at=journal.at
            )


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no such trigger")
def test_database_refuses_legs_that_do_not_balance(paid):
    journal = Journal.objects.create(
        id=uuid4(), code="cost", text="x", currency="NGN", transaction=paid, at=paid.created_at
    )
    with pytest.raises(IntegrityError, match="sum to zero"), transaction.atomic():
        JournalLeg.objects.create(id=uuid4(), journal=journal, kind="wallet", amount=5)
