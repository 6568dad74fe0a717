"""Account statements: the postings of a period with its opening and closing balance.

The postings of an account are numbered without gaps and store the balance after each. A period is therefore a range
of that sequence, found by binary search over the times of the entries. The opening balance of a period always equals
the closing balance of the previous one.

Two concurrent transactions may commit in the opposite order of their times, so times in the sequence can decrease by
the duration of a transaction. The position in the sequence decides the period of such a posting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection
from django.db.models import OuterRef, Q, QuerySet, Subquery

from kit.db.rows.binary_search import last_number, last_number_of_row, last_numbers
from ledger.models import Account, Posting
from merchants.models import Business

LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class AccountStatement:
    """The postings of an account after position `first`, up to and including position `last`."""

    account: Account
    first: int
    last: int

    @property
    def postings(self) -> QuerySet[Posting]:
        within = Posting.objects.filter(
            account=self.account, sequence__gt=self.first, sequence__lte=self.last
        )
        return within.select_related("entry", "account")

    @property
    def opening_balance(self) -> int:
        return _balance_at(self.account, self.first)

    @property
    def closing_balance(self) -> int:
        return _balance_at(self.account, self.last)


def wallet_statements(
    business: Business,
    *,
    currency: str | None = None,
    since: datetime | None = None,
    before: datetime | None = None,
) -> list[AccountStatement]:
    """Return the statement of each wallet of a business, or of one currency, booked in `since` ≤ time < `before`."""
    return account_statements(
        business, kinds=[Account.Kind.WALLET], currency=currency, since=since, before=before
    )


def account_statements(
    business: Business,
    *,
    kinds: Collection[str],
    currency: str | None = None,
    since: datetime | None = None,
    before: datetime | None = None,
) -> list[AccountStatement]:
    """Return the statements of several accounts of a business, as `wallet_statements` does, with two queries."""
    found = Account.objects.filter(business=business, kind__in=kinds)
    if currency is not None:
        found = found.filter(currency=currency)
    accounts = list(found.order_by("currency", "pk"))
    firsts = _last_before_in([(each, since) for each in accounts]) if since else [0] * len(accounts)
    lasts = (
        _last_before_in([(each, before) for each in accounts])
        if before
        else [each.sequence for each in accounts]
    )
    return [
        AccountStatement(account, first=first, last=last)
        for account, first, last in zip(accounts, firsts, lasts, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPostings:
    """The postings of several statements in one order, with the interface that `kit.api.pagination` needs.

    Each account is read through its own index, because a single query for all accounts would sort everything.
    """

    statements: tuple[AccountStatement, ...]
    above: int = 0
    below: int = LARGEST
    is_reversed: bool = False

    def order_by(self, ordering: str) -> MergedPostings:
        return replace(self, is_reversed=ordering.startswith("-"))

    def filter(self, *, id__gt: str = "0", id__lt: str = str(LARGEST)) -> MergedPostings:
        """Return the postings between two ids.

        :raises ValueError: a position isn't a number
        """
        above, below = int(id__gt), int(id__lt)
        if not 0 <= above <= LARGEST or not 0 <= below <= LARGEST:
            raise ValueError("no position")
        return replace(self, above=max(self.above, above), below=min(self.below, below))

    def __getitem__(self, part: slice) -> list[Posting]:
        direction = "-sequence" if self.is_reversed else "sequence"
        found: list[Posting] = []
        for statement in self.statements:
            found += self._between(statement).order_by(direction)[: part.stop]
        found.sort(key=lambda posting: posting.pk, reverse=self.is_reversed)
        return found[part]

    def _between(self, statement: AccountStatement) -> QuerySet[Posting]:
        postings = statement.postings
        if self.above:
            postings = postings.filter(sequence__gt=_last_up_to_id(statement.account, self.above))
        if self.below < LARGEST:
            postings = postings.filter(sequence__lte=_last_up_to_id(statement.account, self.below - 1))
        return postings


@dataclass(frozen=True, slots=True)
class Level:
    """The position of the last posting of an account before a moment, and its balance then. 0 before the first one."""

    position: int
    balance: int


def levels_before(searches: Sequence[tuple[Account, datetime]]) -> list[Level]:
    """Return the level of each account before a moment, with two queries."""
    positions = _last_before_in(searches)
    wanted = Q(pk__in=[])
    for (account, _), position in zip(searches, positions, strict=True):
        wanted |= Q(account=account, sequence=position)
    found = Posting.objects.filter(wanted).values_list("account_id", "sequence", "balance_after")
    balances = {(account, sequence): balance for account, sequence, balance in found}
    return [
        Level(position, balances.get((account.pk, position), 0))
        for (account, _), position in zip(searches, positions, strict=True)
    ]


def with_balance_before(accounts: QuerySet[Account], moment: datetime) -> QuerySet[Account]:
    """Annotate `balance_before`: the balance before a moment, or nothing if nothing was booked before it.

    For a page that reads the accounts anyway, it saves the two queries of `levels_before`.
    """
    condition = _POSTING.format(account="ledger_account.id", condition=_BEFORE)
    at = connection.ops.adapt_datetimefield_value(moment)
    position = last_number_of_row(condition, [at], largest="ledger_account.sequence")
    posting = Posting.objects.filter(account=OuterRef("pk"), sequence=position)
    columns = {"balance_before": Subquery(posting.values("balance_after"))}
    return accounts.annotate(**columns)


def in_chunks(postings: QuerySet[Posting], *, size: int) -> Iterator[list[Posting]]:
    """Yield the postings newest first, for exports. Each chunk is read through the index."""
    last = LARGEST
    while chunk := list(postings.filter(sequence__lt=last).order_by("-sequence")[:size]):
        yield chunk
        last = chunk[-1].sequence


def oldest_first(postings: QuerySet[Posting], *, size: int) -> Iterator[list[Posting]]:
    """Yield the postings of one statement in chunks, each read through the index."""
    last = 0
    while chunk := list(postings.filter(sequence__gt=last).order_by("sequence")[:size]):
        yield chunk
        last = chunk[-1].sequence


def _balance_at(account: Account, sequence: int) -> int:
    if not sequence:
        return 0
    found = Posting.objects.filter(account=account, sequence=sequence)
    return found.values_list("balance_after", flat=True).get()


def _last_before_in(searches: Sequence[tuple[Account, datetime]]) -> list[int]:
    """Return the position of the last posting of each account before a moment, or 0, with one query."""
    return last_numbers(
        _POSTING.format(account="%s", condition=_BEFORE),
        [
            ((account.pk, connection.ops.adapt_datetimefield_value(moment)), account.sequence)
            for account, moment in searches
        ],
    )


def _last_up_to_id(account: Account, posting_id: int) -> int:
    """Return the position of the last posting up to an id, or 0."""
    condition = _POSTING.format(account="%s", condition="posting.id <= %s")
    return last_number(condition, [account.pk, posting_id], largest=account.sequence)


_POSTING = """EXISTS (
    SELECT 1 FROM ledger_posting posting JOIN ledger_entry entry ON entry.id = posting.entry_id
    WHERE posting.account_id = {account} AND posting.sequence = found + step AND {condition}
)"""
_BEFORE = "entry.at < %s"
