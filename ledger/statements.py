"""Account statements: the postings of a period with its opening and closing balance.

The postings of an account are numbered without gaps and store the balance after each. A period is therefore a range
of that sequence, found by binary search over the times of the entries. The opening balance of a period always equals
the closing balance of the previous one.

Two concurrent transactions may commit in the opposite order of their times, so times in the sequence can decrease by
the duration of a transaction. The position in the sequence decides the period of such a posting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

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
    wallets = Account.objects.filter(business=business, kind=Account.Kind.WALLET)
    if currency is not None:
        wallets = wallets.filter(currency=currency)
    return [
        AccountStatement(
            wallet,
            first=_last_before(wallet, since) if since else 0,
            last=_last_before(wallet, before) if before else wallet.sequence,
        )
        for wallet in wallets.order_by("currency")
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


def in_chunks(postings: QuerySet[Posting], *, size: int) -> Iterator[list[Posting]]:
    """Yield the postings newest first, for exports. Each chunk is read through the index."""
    last = LARGEST
    while chunk := list(postings.filter(sequence__lt=last).order_by("-sequence")[:size]):
        yield chunk
        last = chunk[-1].sequence


def _balance_at(account: Account, sequence: int) -> int:
    if not sequence:
        return 0
    found = Posting.objects.filter(account=account, sequence=sequence)
    return found.values_list("balance_after", flat=True).get()


def _last_before(account: Account, moment: datetime) -> int:
    at = connection.ops.adapt_datetimefield_value(moment)
    return _search(account, _SEARCH.format(condition="entry.at < %s"), at)


def _last_up_to_id(account: Account, posting_id: int) -> int:
    return _search(account, _SEARCH.format(condition="posting.id <= %s"), posting_id)


def _search(account: Account, statement: str, limit: Any) -> int:
    """Return the position of the last posting that meets a condition, or 0."""
    step = 1 << account.sequence.bit_length()
    with connection.cursor() as cursor:
        cursor.execute(statement, [step, account.pk, account.sequence, limit])
        return int(cursor.fetchone()[0])


# Binary search: halve the step, and advance by it if the posting there still meets the condition.
_SEARCH = """
WITH RECURSIVE search (step, found) AS (
    SELECT CAST(%s AS bigint), CAST(0 AS bigint)
    UNION ALL
    SELECT step / 2, CASE WHEN EXISTS (
        SELECT 1 FROM ledger_posting posting JOIN ledger_entry entry ON entry.id = posting.entry_id
        WHERE posting.account_id = %s AND posting.sequence = found + step AND found + step <= %s
            AND {condition}
    ) THEN found + step ELSE found END
    FROM search WHERE step >= 1
)
SELECT found FROM search WHERE step = 0
"""
