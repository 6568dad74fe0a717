"""Totals of account statements: the balances at both ends, and the sum of each kind of entry between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from django.core.cache import cache
from django.db.models import Q, Sum

from kit.redis_errors import redis_error
from ledger.models import Posting
from ledger.statements import AccountStatement

CACHED_FOR = 24 * 60 * 60  # seconds

log = structlog.get_logger("sluice.ledger")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTotals:
    """What a statement adds up to, in minor units."""

    statement: AccountStatement
    opening: int
    closing: int
    by_kind: Mapping[str, int]  # of entries; those that didn't occur are absent

    @property
    def change(self) -> int:
        return self.closing - self.opening


def totals_of(statements: Sequence[AccountStatement]) -> list[StatementTotals]:
    """Return the totals of statements with two queries: one of balances, one of sums that aren't cached."""
    ends = _ends(statements)
    keys = [f"statement:{ends[each, each.first][1]}:{ends[each, each.last][1]}" for each in statements]
    known = _cached(keys)
    missing = {
        key: each
        for key, each in zip(keys, statements, strict=True)
        if key not in known and each.last > each.first
    }
    summed = _sums(missing)
    _store(summed)
    return [
        StatementTotals(
            statement=each,
            opening=ends[each, each.first][0],
            closing=ends[each, each.last][0],
            by_kind=known.get(key) or summed.get(key, {}),
        )
        for key, each in zip(keys, statements, strict=True)
    ]


def _ends(statements: Sequence[AccountStatement]) -> dict[tuple[AccountStatement, int], tuple[int, str]]:
    """Return the balance and the hash after both ends of each statement."""
    wanted = Q(pk__in=[])
    for each in statements:
        wanted |= Q(account=each.account, sequence__in=[each.first, each.last])
    found = {
        (account, sequence): (balance, bytes(digest).hex())
        for account, sequence, balance, digest in Posting.objects.filter(wanted).values_list(
            "account_id", "sequence", "balance_after", "hash"
        )
    }
    return {
        (each, end): found[each.account.pk, end] if end else (0, str(each.account.pk))
        for each in statements
        for end in (each.first, each.last)
    }


def _sums(statements: Mapping[str, AccountStatement]) -> dict[str, dict[str, int]]:
    """Return the sums by kind of entry of each statement, by its key."""
    if not statements:
        return {}
    keys = {each.account.pk: key for key, each in statements.items()}
    first, *others = [
        each.postings.order_by().values_list("account_id", "entry__kind").annotate(sum=Sum("amount"))
        for each in statements.values()
    ]
    sums: dict[str, dict[str, int]] = {key: {} for key in statements}
    for account, kind, amount in first.union(*others, all=True):
        sums[keys[account]][kind] = int(amount)
    return sums


# The hash of a posting depends on all before it, so the hashes of both ends name a range that never changes. The month of
# a large business has a million postings.
def _cached(keys: Sequence[str]) -> dict[str, dict[str, int]]:
    try:
        return dict(cache.get_many(keys))
    except redis_error() as error:
        log.warning("statement totals not cached", error=type(error).__name__)
        return {}


def _store(sums: Mapping[str, Mapping[str, int]]) -> None:
    try:
        cache.set_many(dict(sums), timeout=CACHED_FOR)
    except redis_error() as error:
        log.warning("statement totals not cached", error=type(error).__name__)
