"""Lines of statements that aren't matched yet, as they are matched: smaller than rows, because there may be very many."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from django.db.models import QuerySet

from cash.models import StatementLine

FEE = " fee"  # ends the kind of an acquirer's line that is a cost


@dataclass(frozen=True, slots=True)
class OpenLine:
    """A line of a statement. Amounts are minor units; what we receive is positive."""

    pk: int
    booked_on: date
    amount: int
    order: UUID | None
    reference: str = ""
    kind: str = ""
    counterparty: str = ""
    text: str = ""

    @property
    def is_cost(self) -> bool:
        """Return whether an acquirer's line is what it kept."""
        return self.kind.lower().endswith(FEE)


NAMES = ("pk", "booked_on", "amount", "order")
TEXTS = ("reference", "kind", "counterparty", "text")


def open_lines(rows: QuerySet[StatementLine]) -> Iterator[OpenLine]:
    """Yield the rows that aren't matched."""
    for values in rows.filter(matched=None).values_list(*NAMES, *TEXTS).iterator():
        yield OpenLine(*values)


def named_lines(rows: QuerySet[StatementLine]) -> Iterator[OpenLine]:
    """Yield the rows that aren't matched and have our reference, oldest first, without their texts."""
    named = rows.filter(matched=None, order__isnull=False).order_by("booked_on", "pk")
    for values in named.values_list(*NAMES).iterator():
        yield OpenLine(*values)
