"""Entries are balanced, booked once, chained and never changed."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from ledger import hash_chain
from ledger.models import Account, Entry, Posting
from ledger.services import Balance, InsufficientFunds, Kind, Unbalanced, balances, book
from tests.factories import BusinessFactory

pytestmark = pytest.mark.django_db


def run(sql, *values):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)


class TestBook:
    def test_updates_the_accounts_and_stores_each_posting(self, booking, balance_of):
        assert book(booking())
        assert book(booking({Kind.PENDING_SETTLEMENT: -485, Kind.WALLET: 485}, kind="settlement_released"))

        assert balance_of(Kind.ACQUIRER_RECEIVABLE) == -1_000
        assert balance_of(Kind.PENDING_SETTLEMENT) == 500
        assert balance_of(Kind.WALLET) == 485
        assert balance_of(Kind.FEES) == 15
        pending = Posting.objects.filter(account__kind=Kind.PENDING_SETTLEMENT).order_by("sequence")
        assert list(pending.values_list("sequence", "amount", "balance_after")) == [
            (1, 985, 985),
            (2, -485, 500),
        ]

    def test_books_a_cause_once(self, booking, balance_of):
        once = booking()

        assert book(once)
        assert not book(booking(cause=once.cause))

        assert balance_of(Kind.FEES) == 15
        assert (Entry.objects.count(), Posting.objects.count()) == (1, 3)

    def test_books_one_cause_once_for_each_kind(self, booking):
        once = booking()

        assert book(once)
        assert book(booking(cause=once.cause, kind="refund"))

    def test_omits_postings_of_zero(self, booking):
        book(booking({Kind.ACQUIRER_RECEIVABLE: -100, Kind.PENDING_SETTLEMENT: 100, Kind.FEES: 0}))

        assert Posting.objects.count() == 2

    @pytest.mark.parametrize("legs", [{Kind.WALLET: 1}, {Kind.WALLET: 2, Kind.FEES: -1}, {Kind.WALLET: 0}])
    def test_rejects_unbalanced_postings(self, booking, legs):
        with pytest.raises(Unbalanced):
            booking(legs)

    def test_chains_each_posting_to_the_one_before(self, booking):
        for number in range(3):
            book(booking(note=f"Ünïcode | {number}"))

        for account in Account.objects.exclude(sequence=0):
            previous = hash_chain.FIRST
            for posting in account.postings.order_by("sequence").select_related("entry"):
                entry = posting.entry
                assert bytes(posting.previous_hash) == previous
                previous = hash_chain.link(
                    previous,
                    account_id=account.pk,
                    sequence=posting.sequence,
                    amount=posting.amount,
                    balance=posting.balance_after,
                    entry=hash_chain.entry_text(
                        kind=entry.kind, cause=entry.cause, at=entry.at, note=entry.note
                    ),
                )
                assert bytes(posting.hash) == previous
            assert bytes(account.hash) == previous

    def test_separates_businesses_and_currencies(self, booking):
        other = BusinessFactory()
        book(booking())
        book(booking(business_id=other.pk))
        book(booking(currency="USD"))

        fees = Account.objects.filter(kind=Kind.FEES)
        assert sorted(fees.values_list("balance", flat=True)) == [15, 15, 15]

    def test_is_rolled_back_with_its_transaction(self, booking):
        with transaction.atomic():
            book(booking())
            transaction.set_rollback(True)

        assert not Entry.objects.exists()


class TestCoveredEntry:
    def test_debits_at_most_the_balance_of_the_wallet(self, booking, balance_of):
        book(booking({Kind.WALLET: 100, Kind.BANK_CLEARING: -100}, kind="top_up"))
        taking = {Kind.WALLET: -60, Kind.PAYOUTS_IN_FLIGHT: 60}

        book(booking(taking, is_covered=True))
        with pytest.raises(InsufficientFunds):
            book(booking(taking, is_covered=True))
        book(booking({Kind.WALLET: -40, Kind.PAYOUTS_IN_FLIGHT: 40}, is_covered=True))

        assert balance_of(Kind.WALLET) == 0
        assert balance_of(Kind.PAYOUTS_IN_FLIGHT) == 100

    def test_accepts_an_entry_that_was_already_booked(self, booking):
        book(booking({Kind.WALLET: 100, Kind.BANK_CLEARING: -100}, kind="top_up"))
        taking = booking({Kind.WALLET: -100, Kind.PAYOUTS_IN_FLIGHT: 100}, is_covered=True)

        assert book(taking)
        assert not book(taking)


class TestBalances:
    def test_cover_each_currency_of_the_business(self, booking, business):
        book(booking())

        assert balances(business) == [
            Balance(currency="NGN", available=0, pending=985),
            Balance(currency="USD", available=0, pending=0),
        ]

    def test_cover_a_removed_currency_that_still_has_money(self, booking, business):
        book(booking(currency="EUR"))

        assert balances(business)[-1] == Balance(currency="EUR", available=0, pending=985)


class TestTheDatabase:
    """The database refuses invalid writes from any code."""

    @pytest.mark.parametrize("table", ["ledger_entry", "ledger_posting"])
    @pytest.mark.parametrize("sql", ["UPDATE {} SET id = id", "DELETE FROM {}"])
    def test_rejects_changes_of_entries_and_postings(self, booking, table, sql):
        book(booking())

        with pytest.raises(IntegrityError, match="append-only"):
            run(sql.format(table))

    @pytest.mark.parametrize(
        "sql",
        [
            "DELETE FROM ledger_account",
            "UPDATE ledger_account SET kind = 'other' WHERE kind = 'wallet'",
            "UPDATE ledger_account SET currency = 'EUR'",
        ],
    )
    def test_rejects_deleting_or_renaming_accounts(self, booking, sql):
        book(booking())

        with pytest.raises(IntegrityError, match="keeps"):
            run(sql)

    def test_rejects_unbalanced_postings(self, booking, business):
        book(booking())
        wallet = Account.objects.get(business=business, kind=Kind.WALLET)
        one_sided = Posting(entry=Entry.objects.get(), account=wallet, amount=5, sequence=1, balance_after=5)
        one_sided.previous_hash = one_sided.hash = b""

        with pytest.raises(IntegrityError, match=r"sum to zero|no further posting"), transaction.atomic():
            one_sided.save(force_insert=True)

    def test_rejects_an_entry_without_postings_on_sqlite(self, business):
        if connection.vendor != "sqlite":
            pytest.skip("PostgreSQL looks at the postings")
        entry = Entry(kind="card", cause=business.pk, business=business, currency="NGN", at=timezone.now())

        with pytest.raises(IntegrityError, match="sum to zero"), transaction.atomic():
            entry.save(force_insert=True)

    def test_rejects_a_duplicate_sequence_number(self, booking):
        book(booking())
        posting = Posting.objects.first()
        posting.pk, posting.amount = None, 0

        with pytest.raises(IntegrityError), transaction.atomic():
            posting.save(force_insert=True)
