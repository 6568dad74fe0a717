"""Statements of settlement batches, line by line, for pages and exports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q, QuerySet

from kit.db.rows.paged_reading import in_pages
from kit.files.tables import Column, Table, amounts, attributes
from payments.models import SettlementBatch, SettlementItem

TOGETHER = 2_000  # items read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLine:
    """A payment, a refund, a step of a dispute or a carried amount. Amounts are minor units."""

    kind: str
    reference: str  # the merchant's: of the payment, or of the refund; the case number of a dispute
    payment_reference: str
    method: str
    at: datetime | None  # when it succeeded
    currency: str
    gross: int = 0
    fee: int = 0
    fee_tax: int = 0
    refund: int = 0
    dispute: int = 0  # taken; negative: given back
    dispute_status: str = ""  # after the step: a dispute may have a line that takes and one that gives back
    net: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A batch with its lines: the payments in the order they succeeded, then the refunds."""

    batch: SettlementBatch

    @property
    def items(self) -> QuerySet[SettlementItem]:
        """Return the items to paginate. `show` converts each to a line.

        Payments and refunds are read after a page of items: a join may be done for the rest of the batch, then sorted.
        """
        related = ("transaction", "operation", "dispute_step__dispute")
        return self.batch.items.prefetch_related(*related).order_by("id")

    def lines(self) -> Iterator[StatementLine]:
        """Yield all lines, including carried amounts, without loading them at once."""
        items = in_pages(self.items, lambda item: Q(pk__gt=item.pk), size=TOGETHER)
        yield from map(show, items)
        yield from carried(self.batch)


def statement(batch: SettlementBatch) -> Statement:
    return Statement(batch)


def show(item: SettlementItem) -> StatementLine:
    payment, refund, step = item.transaction, item.operation, item.dispute_step
    at: datetime | None
    if step is not None:
        reference, at = step.dispute.case_number, step.at
    elif refund is not None:
        reference, at = refund.reference or "", refund.finished_at
    else:
        reference, at = payment.reference, payment.finished_at
    return StatementLine(
        kind=item.kind,
        reference=reference,
        payment_reference=payment.reference,
        method=payment.method,
        at=at,
        currency=payment.currency,
        gross=item.gross,
        fee=item.fee,
        fee_tax=item.fee_tax,
        refund=item.refunded,
        dispute=item.disputed,
        dispute_status=step.status if step is not None else "",
        net=item.net,
    )


def carried(batch: SettlementBatch) -> Iterator[StatementLine]:
    """Yield the amounts brought forward from earlier batches and carried forward to a later one."""
    for kind, net in (
        ("brought_forward", -batch.brought_forward),
        ("carried_forward", batch.carried_forward),
    ):
        if net:
            yield StatementLine(
                kind=kind,
                reference="",
                payment_reference="",
                method="",
                at=None,
                currency=batch.currency,
                net=net,
            )


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line of a statement with its position."""

    id: int
    line: StatementLine


# Positions of the carried amounts, after every item.
_CARRIED_FROM = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLines:
    """The lines of a statement by position, for the paginators of `kit.api.pagination`.

    Carried amounts are not rows, so a queryset can't return them.
    """

    batch: SettlementBatch
    above: int = 0
    below: int = 2**63 - 1
    is_reversed: bool = False

    def order_by(self, ordering: str) -> StatementLines:
        return replace(self, is_reversed=ordering.startswith("-"))

    def filter(self, *, id__gt: str = "0", id__lt: str = str(2**63 - 1)) -> StatementLines:
        """Return the lines between two positions.

        :raises ValueError: a position isn't a number
        """
        return replace(self, above=max(self.above, int(id__gt)), below=min(self.below, int(id__lt)))

    def __getitem__(self, part: slice) -> list[NumberedLine]:
        direction = "-id" if self.is_reversed else "id"
        within = self.batch.items.filter(id__gt=self.above, id__lt=self.below)
        related = ("transaction", "operation", "dispute_step__dispute")
        items = within.select_related(*related).order_by(direction)[: part.stop]
        rows = [NumberedLine(item.pk, show(item)) for item in items]
        ends = [
            NumberedLine(_CARRIED_FROM + n, one)
            for n, one in enumerate(carried(self.batch))
            if self.above < _CARRIED_FROM + n < self.below
        ]
        return ([*reversed(ends), *rows] if self.is_reversed else [*rows, *ends])[part]


def table(batch: SettlementBatch) -> Table[StatementLine]:
    """Return the statement as a table, for exports."""
    columns: list[Column[StatementLine]] = [
        *attributes("kind", "reference", "payment_reference", "method", "at", "currency"),
        *amounts("gross", "fee", "fee_tax", "refund", "dispute", "net"),
        Column("settlement_id", lambda _: batch.pk),
        Column("settle_status", lambda _: batch.state),
        *attributes("dispute_status"),
    ]
    return Table(columns=columns, rows=statement(batch).lines())
