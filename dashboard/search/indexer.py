"""Writing of search terms: follow the tables that objects come from, in bounded batches, from a stored position.

Ids are chosen before their rows are committed, so a row may appear behind the newest one that was read. Each table
therefore has two readers. The first one reads the newest rows every few seconds and continues from the commit horizon,
before which rows only rarely appear. The second one reads everything again an hour later, and reads everything that
existed before the search did, or before its terms changed. Writing is idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from dashboard.models import SearchPosition, SearchTerm
from dashboard.search.objects import Row
from dashboard.search.sources import SOURCES, START_OF_TIME, Record, Source
from kit.db.clock import steady
from kit.db.prepared_statements import insert_if_absent
from kit.db.rows.commit_horizon import commit_horizon
from merchants.models import Business

BATCH = 500  # rows of a table
TERMS = 1_000  # of one statement
# Raised when the terms of existing objects change: then new second readers read all again.
TERMS_EDITION = 2
SECOND_READING = timedelta(
    hours=1
)  # upper bound of the time between an id and its commit, as for daily totals
BUDGET = 1.0  # seconds of a run for second readings


@dataclass(frozen=True, slots=True)
class Reader:
    """One of the two readers of a table."""

    source: Source
    is_second: bool

    @property
    def name(self) -> str:
        return f"{self.source.name}, again {TERMS_EDITION}" if self.is_second else self.source.name

    def first_key(self, now: datetime) -> str:
        """Return the key that the reader starts after when it has no position yet."""
        return self.source.key_at(START_OF_TIME if self.is_second else now - SECOND_READING)

    def read(self, after: str, *, now: datetime) -> Sequence[Record]:
        found = self.source.read(after, BATCH)
        return [each for each in found if each.at <= now - SECOND_READING] if self.is_second else found

    def settled(self, records: Sequence[Record], *, now: datetime) -> str:
        """Return the key up to which no further row can appear, or an empty string."""
        horizon = now if self.is_second else commit_horizon(now=now)
        keys = [each.key for each in records if each.at < horizon]
        return keys[-1] if keys else ""


def run(*, now: datetime) -> Iterator[int]:
    """Index new rows, then rows for their second reading; yield the number of rows of each batch."""
    positions = SearchPosition.objects.in_bulk()
    for source in SOURCES:
        yield from _follow(Reader(source, is_second=False), positions, now=now)
    until = steady() + BUDGET
    for source in SOURCES:
        for read in _follow(Reader(source, is_second=True), positions, now=now):
            yield read
            if steady() > until:
                break


def rebuild(*, business: Business | None = None) -> Iterator[int]:
    """Index all existing objects, of one business or of all; yield the number of rows of each batch.

    Existing terms stay. The readers' positions don't change.
    """
    for source in SOURCES:
        after = source.key_at(START_OF_TIME)
        while records := source.read(after, BATCH):
            write(_rows(source, records, business=business))
            after = records[-1].key
            yield len(records)


def clear(*, business: Business | None = None) -> Iterator[int]:
    """Delete the terms of one business or of all, in batches; yield the number of each."""
    found = SearchTerm.objects.filter(business=business) if business else SearchTerm.objects.all()
    while batch := list(found.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            deleted, _ = SearchTerm.objects.filter(pk__in=batch).delete()
        yield deleted


def lag(*, now: datetime) -> timedelta:
    """Return the age of the oldest row that isn't indexed yet; zero if there is none."""
    found = {each.reader: each.read_up_to for each in SearchPosition.objects.all()}
    oldest = [
        record.at
        for source in SOURCES
        if source.name in found
        for record in source.read(found[source.name], 1)
    ]
    return max(now - min(oldest), timedelta(0)) if oldest else timedelta(0)


def write(rows: Iterable[Row]) -> None:
    """Insert terms. Existing ones stay."""
    # In the order of the key, so that concurrent readers don't deadlock and the index is written in order.
    ordered = sorted(set(rows), key=lambda row: (row[0].bytes, row[1], row[2], row[3].bytes))
    SearchTerm.objects.bulk_create(
        (
            SearchTerm(business_id=business, kind=kind, term=term, object_id=key)
            for business, kind, term, key in ordered
        ),
        batch_size=TERMS,
        ignore_conflicts=True,
    )


def _follow(reader: Reader, positions: dict[str, SearchPosition], *, now: datetime) -> Iterator[int]:
    """Index the rows after the reader's position."""
    position = positions.get(reader.name) or _first_position(reader, now=now)
    after = position.resume_after
    while records := reader.read(after, now=now):
        if not _index(reader, position, records, now=now):
            return
        yield len(records)
        after = records[-1].key


@transaction.atomic
def _index(reader: Reader, position: SearchPosition, records: Sequence[Record], *, now: datetime) -> bool:
    """Index a batch and store the position. Return False if another process is reading."""
    mine = SearchPosition.objects.filter(pk=position.pk, resume_after=position.resume_after)
    if not mine.select_for_update(skip_locked=connection.features.has_select_for_update_skip_locked).exists():
        return False
    write(_rows(reader.source, records, business=None))
    position.resume_after = reader.settled(records, now=now) or position.resume_after
    position.read_up_to = records[-1].key
    position.save(update_fields=["resume_after", "read_up_to"])
    return True


def _first_position(reader: Reader, *, now: datetime) -> SearchPosition:
    first = reader.first_key(now)
    insert_if_absent(SearchPosition(reader=reader.name, resume_after=first, read_up_to=first))
    return SearchPosition.objects.get(pk=reader.name)


def _rows(source: Source, records: Sequence[Record], *, business: Business | None) -> Iterator[Row]:
    subjects = {each.subject for each in records if each.subject is not None}
    for row in source.rows(subjects):
        if business is None or row[0] == business.pk:
            yield row
