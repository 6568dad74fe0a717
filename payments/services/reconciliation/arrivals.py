"""Which payments' money has arrived: a line on a statement of an account of ours was matched with it.

What an acquirer says it has paid out is there once a bank's statement has it, too. What a journal explains without a line,
such as a write-off, never arrived. Matches are append-only, so money that has arrived stays arrived.
"""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from cash.models import BankAccount, MatchedItem, MatchedLine, StatementLine
from payments.models import Transaction
from payments.services.reconciliation.ledger_line import JOURNAL, PAID_OUT, PAYMENT, SETTLEMENT, TRANSFER
from virtual_accounts.models import Transfer


def has_arrived(payment: str = "") -> Q:
    """Return the condition for queries of payments, or of rows that lead to one by a path such as `transaction__`."""
    there = MatchedItem.objects.exclude(Exists(_on_the_way()) | _is_explained_away())
    settled = there.filter(kind=PAYMENT, item=OuterRef(f"{payment}id"))
    transfers = Transfer.objects.filter(session=OuterRef(OuterRef(f"{payment}session")))
    received = there.filter(kind=TRANSFER, item__in=transfers.values("pk"))
    return Q(Exists(settled)) | Q(Exists(received))


def arrived(payments: Iterable[UUID]) -> set[UUID]:
    """Return those payments whose money has arrived."""
    return set(Transaction.objects.filter(has_arrived(), pk__in=payments).values_list("pk", flat=True))


def _is_explained_away() -> Q:
    of_match = {"match": OuterRef("match")}
    journals = MatchedItem.objects.filter(kind=JOURNAL, **of_match)
    return Q(Exists(journals)) & ~Q(Exists(MatchedLine.objects.filter(**of_match)))


def _on_the_way() -> QuerySet[StatementLine]:
    """Return what an acquirer's statement, with the line of an item, says was paid out and no bank's statement has."""
    seen = MatchedItem.objects.filter(kind=SETTLEMENT, item=OuterRef("order"))
    return StatementLine.objects.filter(
        ~Exists(seen), kind=PAID_OUT, statement__lines__matched__match=OuterRef("match")
    ).exclude(statement__account__kind=BankAccount.Kind.BANK)
