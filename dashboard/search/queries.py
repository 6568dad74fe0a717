"""Queries of the search terms. Each costs a bounded number of index lookups, however many rows match.

A text is looked up as a prefix. The first `MOST_TERMS` different terms with the prefix are read from the index, and of
each its newest objects. Objects that share a whole term are therefore found newest first, be they half a million. If a
prefix has more terms than that, the result also contains what matches among the business's newest transactions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from dashboard.models import SearchTerm
from dashboard.search import objects
from dashboard.search.terms import Lookup, lookups, lookups_with_amount
from kit.db import postgresql
from merchants.models import Business
from payments.models import Transaction

Kind = SearchTerm.Kind

MOST_TERMS = 32  # of each range and kind
MOST_LISTED = 1_000
NEWEST = 500  # transactions that are compared if a prefix has more terms
TRANSACTIONS = frozenset(objects.KIND_OF.values())
FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)

# The planner doesn't know that each part reads a few rows: it would compile the statement, or scan the table to join it.
PLANNING = {"jit": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}
STATEMENT = """
    WITH RECURSIVE wanted (kind, low, high) AS (VALUES {wanted}),
    terms (kind, high, term, place) AS (
        SELECT kind, high, (
            SELECT one.term FROM {table} one
            WHERE one.business_id = %(business)s AND one.kind = wanted.kind
                AND one.term >= wanted.low AND one.term < wanted.high
            ORDER BY one.term LIMIT 1
        ), 1 FROM wanted
        UNION ALL
        SELECT kind, high, (
            SELECT one.term FROM {table} one
            WHERE one.business_id = %(business)s AND one.kind = terms.kind
                AND one.term > terms.term AND one.term < terms.high
            ORDER BY one.term LIMIT 1
        ), place + 1 FROM terms WHERE term IS NOT NULL AND place <= %(terms)s
    ),
    edges (kind, term, place, edge) AS (
        SELECT kind, term, place, COALESCE((
            SELECT one.object_id FROM {table} one
            WHERE one.business_id = %(business)s AND one.kind = terms.kind AND one.term = terms.term
                AND one.object_id >= %(since)s AND one.object_id < %(until)s
            ORDER BY one.object_id DESC LIMIT 1 OFFSET %(offset)s
        ), %(since)s) FROM terms WHERE term IS NOT NULL
    )
    SELECT edges.kind, edges.place, found.object_id
    FROM edges LEFT JOIN {table} found
        ON found.business_id = %(business)s AND found.kind = edges.kind AND found.term = edges.term
        AND found.object_id >= edges.edge AND found.object_id < %(until)s
"""


@dataclass(slots=True)
class Found:
    """The ids of matching objects by kind, newest first. `is_partial`: some matches may be missing."""

    ids: dict[Kind, list[UUID]] = field(default_factory=dict)
    is_partial: bool = False

    def __bool__(self) -> bool:
        return any(self.ids.values())


def find(
    business: Business,
    ranges: Sequence[Lookup],
    *,
    kinds: Collection[Kind],
    limit: int,
    since: UUID = FIRST,
    until: UUID = LAST,
) -> Found:
    """Return the newest objects of each kind that match any of the ranges, at most `limit` of each kind.

    `since` and `until` are ids, which start with the time of creation.
    """
    if not ranges:
        return Found()
    keys: dict[Kind, set[UUID]] = {kind: set() for kind in kinds}
    is_partial = False
    for kind, place, key in _read(business, ranges, kinds=kinds, limit=limit, since=since, until=until):
        is_partial |= place > MOST_TERMS
        if key is not None:
            keys[Kind(kind)].add(key if isinstance(key, UUID) else UUID(key))
    if is_partial:
        for kind, key in _among_newest(business, ranges, kinds=kinds, since=since, until=until):
            keys[kind].add(key)
    return Found(
        {kind: sorted(found, reverse=True)[:limit] for kind, found in keys.items() if found}, is_partial
    )


def find_with_amount(
    business: Business, text: str, *, kinds: Collection[Kind], since: UUID = FIRST, until: UUID = LAST
) -> Found:
    """Return the transactions that match a text read as an amount and something else, such as `4081 12,500`.

    Compares the newest `NEWEST` transactions with the amount.
    """
    kinds = [kind for kind in kinds if kind in TRANSACTIONS]
    matches: dict[Kind, set[UUID]] = {}
    is_partial = False
    if not kinds:
        return Found()
    for exact, ranges in lookups_with_amount(text, currencies=business.currencies):
        found = find(business, exact, kinds=kinds, limit=NEWEST, since=since, until=until)
        keys = [key for ids in found.ids.values() for key in ids]
        is_partial |= any(len(ids) == NEWEST for ids in found.ids.values())
        for kind, key in _matching(keys, ranges, kinds=kinds):
            matches.setdefault(kind, set()).add(key)
    return Found({kind: sorted(ids, reverse=True) for kind, ids in matches.items()}, is_partial)


def ids_for_list(
    business: Business, text: str, *, kinds: Collection[Kind], since: UUID = FIRST, until: UUID = LAST
) -> list[UUID]:
    """Return the ids of what a list shows for a search text: the newest `MOST_LISTED` matches of each kind."""
    ranges = lookups(text, currencies=business.currencies)
    found = find(business, ranges, kinds=kinds, limit=MOST_LISTED, since=since, until=until)
    found = found or find_with_amount(business, text, kinds=kinds, since=since, until=until)
    return [key for keys in found.ids.values() for key in keys]


def _read(
    business: Business,
    ranges: Sequence[Lookup],
    *,
    kinds: Collection[Kind],
    limit: int,
    since: UUID,
    until: UUID,
) -> list[Any]:
    binary, key = (
        SearchTerm._meta.get_field("term").db_type(connection),
        SearchTerm._meta.get_field("object_id"),
    )
    values: dict[str, Any] = {"terms": MOST_TERMS, "offset": limit - 1}
    for name, given in (("business", business.pk), ("since", since), ("until", until)):
        values[name] = key.get_db_prep_value(given, connection)
    wanted: list[str] = []
    for kind in kinds:
        for each in ranges:
            place = len(wanted)
            values |= {f"low{place}": each.low, f"high{place}": each.high}
            wanted.append(
                f"({int(kind)}, CAST(%(low{place})s AS {binary}), CAST(%(high{place})s AS {binary}))"
            )
    statement = STATEMENT.format(wanted=", ".join(wanted), table=SearchTerm._meta.db_table)
    with postgresql.planning(**PLANNING), connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _among_newest(
    business: Business, ranges: Sequence[Lookup], *, kinds: Collection[Kind], since: UUID, until: UUID
) -> set[tuple[Kind, UUID]]:
    """Return the matches among the newest transactions."""
    newest = Transaction.objects.of(business).filter(pk__gte=since, pk__lt=until).order_by("-pk")
    keys = list(newest.values_list("pk", flat=True)[:NEWEST])
    return _matching(keys, ranges, kinds=kinds)


def _matching(
    keys: Collection[UUID], ranges: Sequence[Lookup], *, kinds: Collection[Kind]
) -> set[tuple[Kind, UUID]]:
    """Return the transactions of which a term is in a range."""
    return {
        (Kind(kind), key)
        for _, kind, term, key in objects.of_transactions(keys)
        if kind in kinds and any(each.low <= term < each.high for each in ranges)
    }
