"""The tables that the indexer reads, each in the order of its key.

Most terms are known when a row is created. Authorisation codes and senders of transfers come later, with a
transition of the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Model

from dashboard.search import objects
from dashboard.search.objects import Row
from kit.time.time_ordered_ids import EPOCH, earliest_id
from payments.models import CardOperation, Transaction, Transition
from virtual_accounts.models import UnappliedMoney, VirtualAccount


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table: its key, when it was created, and the object that it concerns; None if the search has none."""

    key: str
    at: datetime
    subject: UUID | None


@dataclass(frozen=True, slots=True)
class Source:
    """A table whose new rows lead to new terms."""

    name: str
    read: Callable[[str, int], Sequence[Record]]  # the next rows after a key; all if it is empty
    key_at: Callable[[datetime], str]  # the key that a reader starts after, to read the rows since a time
    rows: Callable[[Iterable[UUID]], Iterator[Row]]  # the search terms of the objects


def time_of(key: UUID) -> datetime:
    """Return when an id of version 7 was created, to the millisecond."""
    return EPOCH + timedelta(milliseconds=key.int >> 80)


def _by_id(model: type[Model], **condition: str) -> Callable[[str, int], Sequence[Record]]:
    def read(after: str, limit: int) -> Sequence[Record]:
        rows: Any = (
            model._default_manager.filter(pk__gt=UUID(after)) if after else model._default_manager.all()
        )
        keys = rows.filter(**condition).order_by("pk").values_list("pk", flat=True)[:limit]
        return [Record(str(key), time_of(key), key) for key in keys]

    return read


# The columns that terms are made of change with these.
WITH_NEW_TERMS = frozenset({"status", "awaiting"})


def _read_transitions(after: str, limit: int) -> Sequence[Record]:
    found = Transition.objects.filter(pk__gt=int(after or 0)).order_by("pk")
    return [
        Record(str(key), at, subject if attribute in WITH_NEW_TERMS else None)
        for key, at, subject, attribute in found.values_list("pk", "at", "transaction_id", "attribute")[
            :limit
        ]
    ]


def _id_at(at: datetime) -> str:
    return str(earliest_id(at))


def _newest_transition(_: datetime) -> str:
    """Return the newest transition: terms of older ones are read with their transactions."""
    newest = Transition.objects.order_by("-pk").values_list("pk", flat=True).first()
    return str(newest or 0)


SOURCES = (
    Source("transactions", _by_id(Transaction), _id_at, objects.of_transactions),
    Source("transitions", _read_transitions, _newest_transition, objects.of_transactions),
    Source("refunds", _by_id(CardOperation), _id_at, objects.of_refunds),
    Source("unapplied transfers", _by_id(UnappliedMoney), _id_at, objects.of_unapplied),
    Source("virtual accounts", _by_id(VirtualAccount), _id_at, objects.of_accounts),
)
START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)
