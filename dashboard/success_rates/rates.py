"""Success rates of payments by method, bank and BIN, compared with the same hours a week before.

One query counts the newest finished payments of both periods, through an index, so that its cost is bounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

from django.db.models import BooleanField, Count, F, QuerySet, Value

from dashboard.models import FallenRate
from dashboard.transactions.filters import METHOD_NAMES
from kit import banks
from kit.money.shares import per_mille
from kit.time.time_ordered_ids import earliest_id
from merchants.models import Business
from payments.models import Transaction

WEEK = timedelta(days=7)
NEWEST = 10_000  # payments that are counted in each period
ENOUGH = 20  # finished payments, below which a rate says little
FALLEN = Fraction(2, 3)  # of the past rate, or less
RECOVERED = Fraction(5, 6)  # of the past rate, or more; further up, not to alternate

Kind = FallenRate.Kind
Status = Transaction.Status
FINISHED = (Status.SUCCESS, Status.FAILED)


class Group(NamedTuple):
    """Payments by one method, into accounts of one bank, or with cards of one BIN."""

    kind: str
    key: str

    @property
    def place(self) -> tuple[int, str]:
        """Return where it stands among groups with as many payments: methods come first."""
        return Kind.values.index(self.kind), self.key

    @property
    def name(self) -> str:
        if self.kind == Kind.METHOD:
            return METHOD_NAMES[Transaction.Method(self.key)]
        return banks.name_of(self.key) or self.key if self.kind == Kind.BANK else self.key


@dataclass(slots=True)
class Rate:
    """Finished payments of a group, in a period and in the same hours a week before."""

    group: Group
    brands: set[str] = field(default_factory=set)  # of the cards of a BIN
    finished: int = 0
    succeeded: int = 0
    past_finished: int = 0
    past_succeeded: int = 0

    @property
    def per_mille(self) -> int | None:
        return per_mille(self.succeeded, self.finished) if self.finished else None

    @property
    def past_per_mille(self) -> int | None:
        return per_mille(self.past_succeeded, self.past_finished) if self.past_finished else None

    @property
    def is_known(self) -> bool:
        """Return whether both periods have enough payments to compare them."""
        return min(self.finished, self.past_finished) >= ENOUGH

    @property
    def has_fallen(self) -> bool:
        """Return whether the rate is lower by a third or more.

        >>> a_third = Rate(Group(Kind.METHOD, "card"), finished=30, succeeded=18, past_finished=30, past_succeeded=27)
        >>> a_third.has_fallen, Rate(a_third.group, finished=19, past_finished=30, past_succeeded=27).has_fallen
        (True, False)
        """
        is_lower = (self.per_mille or 0) < (self.past_per_mille or 0)  # as people read them
        return self.is_known and is_lower and self._of_past <= FALLEN

    @property
    def has_recovered(self) -> bool:
        return self.is_known and self._of_past >= RECOVERED

    @property
    def _of_past(self) -> Fraction:
        """Return the rate as a part of the past one; the whole if that was zero."""
        past = self.past_succeeded * self.finished
        return Fraction(self.succeeded * self.past_finished, past) if past else Fraction(1)


def rates_of(business: Business, *, hours: int, now: datetime) -> list[Rate]:
    """Return the rates of all groups with payments in the last hours, or in the same ones a week before."""
    found: dict[Group, Rate] = {}
    for row in _rows(business, begin=now - timedelta(hours=hours), end=now):
        for group in _groups(row):
            _add(row, found.setdefault(group, Rate(group)))
    return sorted(found.values(), key=lambda rate: (-rate.finished, -rate.past_finished, rate.group.place))


def by_kind(rates: Sequence[Rate]) -> Mapping[str, list[Rate]]:
    found = defaultdict(list)
    for rate in rates:
        found[rate.group.kind].append(rate)
    return found


def _rows(business: Business, *, begin: datetime, end: datetime) -> Any:
    """Return the number of payments of both periods by what their groups and outcome depend on."""
    now, past = (
        _counted(business, begin=begin - ago, end=end - ago, is_past=bool(ago)) for ago in (timedelta(), WEEK)
    )
    return now.union(past, all=True)


def _counted(business: Business, *, begin: datetime, end: datetime, is_past: bool) -> QuerySet[Any, Any]:
    payments = Transaction.objects.of(business).filter(
        request_type=Transaction.RequestType.PAYMENT,
        status__in=FINISHED,
        id__gte=earliest_id(begin),
        id__lt=earliest_id(end),
    )
    newest = payments.order_by("-id").values("pk")[:NEWEST]
    return (
        Transaction.objects.filter(pk__in=newest)
        .values("method", "card_bin", "card_brand", "status", bank=F("session__account__bank_code"))
        .annotate(count=Count("pk"), is_past=Value(is_past, output_field=BooleanField()))
        .order_by()
    )


def _groups(row: Mapping[str, Any]) -> Iterator[Group]:
    yield Group(Kind.METHOD, row["method"])
    if row["bank"]:
        yield Group(Kind.BANK, row["bank"])
    if row["card_bin"]:
        yield Group(Kind.BIN, row["card_bin"])


def _add(row: Mapping[str, Any], rate: Rate) -> None:
    count, succeeded = row["count"], row["count"] if row["status"] == Status.SUCCESS else 0
    if row["is_past"]:
        rate.past_finished += count
        rate.past_succeeded += succeeded
    else:
        rate.finished += count
        rate.succeeded += succeeded
    if row["card_brand"]:
        rate.brands.add(row["card_brand"])
