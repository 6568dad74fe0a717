"""Compare a statement of an acquirer or bank with the ledger by reference, amount and day.

RRNs and references of the acquirer or bank are matched first, and a merchant's reference only if it is unique.

Nothing is corrected automatically. Staff review the differences.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction as database

from merchants.people import audit
from merchants.people.audit import Actor
from payments.identifiers import new_id
from payments.models import Reconciliation, ReconciliationLine
from payments.rules.bank_statement_parser import Row
from payments.rules.business_days import begins_at
from payments.services.reconciliation.ledger_lines import LedgerLine, Source, between

Result = ReconciliationLine.Result

# A statement may date a line some days earlier or later than we do, so search this far around its days.
SEARCH_MARGIN = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A line of the statement with its ledger line, or one of them if the other is missing."""

    result: Result
    row: Row | None = None
    entry: LedgerLine | None = None
    differences: dict[str, list[Any]] = field(default_factory=dict)  # by field: [statement, ours]

    @property
    def side(self) -> Row | LedgerLine:
        """The line of the statement, or the ledger line if the statement has none.

        :raises ValueError: the finding has neither
        """
        side = self.row or self.entry
        if side is None:
            raise ValueError("A finding has at least one side.")
        return side


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a comparison."""

    source: Source
    first_day: date
    last_day: date
    currency: str | None  # None: all
    findings: list[Finding]

    def of(self, result: Result) -> list[Finding]:
        return [one for one in self.findings if one.result == result]

    @property
    def counts(self) -> dict[str, int]:
        return {result.value: len(self.of(result)) for result in Result}

    @property
    def is_clean(self) -> bool:
        return all(one.result == Result.MATCHED for one in self.findings)


def compare(
    rows: list[Row], *, source: Source, first: date, last: date, currency: str | None = None
) -> Report:
    """Compare a statement with the ledger lines of business days, in one currency or in all."""
    rows = [row for row in rows if currency in {None, row.currency}]
    window = begins_at(first - SEARCH_MARGIN), begins_at(last + SEARCH_MARGIN + timedelta(days=1))
    entries = list(between(*window, source=source))
    findings, seen = _match(rows, entries)
    findings += [
        Finding(result=Result.MISSING_THERE, entry=entry)
        for entry in entries
        if entry.is_certain
        and (entry.kind, entry.id) not in seen
        and first <= entry.day <= last
        and currency in {None, entry.currency}
    ]
    return Report(source=source, first_day=first, last_day=last, currency=currency, findings=findings)


def _match(rows: list[Row], entries: Iterable[LedgerLine]) -> tuple[list[Finding], set[tuple[str, UUID]]]:
    """Match each row with a ledger line, exact matches first. No ledger line matches two rows."""
    index = _Index(entries)
    seen: set[tuple[str, UUID]] = set()
    found: dict[int, Finding] = {}
    for may_differ in (False, True):
        for row in rows:
            if row.line in found:
                continue
            free = [
                (differences, entry)
                for entry in index.candidates(row)
                if (entry.kind, entry.id) not in seen
                and ((differences := _differences(row, entry)) == {} or may_differ)
            ]
            if not free:
                continue
            differences, entry = min(free, key=lambda one: len(one[0]))
            seen.add((entry.kind, entry.id))
            result = Result.DIFFERENT if differences else Result.MATCHED
            found[row.line] = Finding(result=result, row=row, entry=entry, differences=differences)
    unknown = (
        Finding(result=Result.MISSING_HERE, row=row, differences=index.ambiguity(row))
        for row in rows
        if row.line not in found
    )
    return [*found.values(), *unknown], seen


class _Index:
    """Ledger lines by direction and reference."""

    def __init__(self, entries: Iterable[LedgerLine]) -> None:
        self._own: dict[tuple[str, str], list[LedgerLine]] = defaultdict(list)
        self._shared: dict[tuple[str, str], list[LedgerLine]] = defaultdict(list)
        for entry in entries:
            for reference in dict.fromkeys(entry.references):
                self._own[entry.direction, reference].append(entry)
            for reference in dict.fromkeys(entry.shared_references):
                self._shared[entry.direction, reference].append(entry)

    def candidates(self, row: Row) -> list[LedgerLine]:
        """Return the ledger lines that a row's reference may identify.

        A merchant's reference counts only if it is unique and not the RRN or bank reference of another line, because
        different businesses may use the same one.
        """
        own = self._own.get((row.direction, row.reference))
        if own:
            return own
        shared = self._shared.get((row.direction, row.reference), [])
        return shared if len(shared) == 1 else []

    def ambiguity(self, row: Row) -> dict[str, list[Any]]:
        """Return the explanation for a row whose reference belongs to several ledger lines."""
        place = row.direction, row.reference
        if place in self._own or len(shared := self._shared.get(place, [])) <= 1:
            return {}
        return {"reference": [row.reference, f"{len(shared)} entries"]}


def _differences(row: Row, entry: LedgerLine) -> dict[str, list[Any]]:
    sides: dict[str, list[Any]] = {
        "amount": [row.amount, entry.amount],
        "currency": [row.currency, entry.currency],
        "day": [row.day.isoformat(), entry.day.isoformat()],
        "status": ["success", str(entry.status)],  # everything on a statement has succeeded
    }
    return {name: both for name, both in sides.items() if both[0] != both[1]}


@database.atomic
def record(report: Report, *, file_name: str, content: bytes, actor: Actor, now: datetime) -> Reconciliation:
    """Store a report with its actor and time. No money moves."""
    made = Reconciliation.objects.create(
        id=new_id(now),
        source=report.source,
        file_name=file_name[:255],
        file_hash=hashlib.sha256(content).hexdigest(),
        first_day=report.first_day,
        last_day=report.last_day,
        currency=report.currency or "",
        actor=actor.name,
        at=now,
        **report.counts,
    )
    ReconciliationLine.objects.bulk_create((_line(made, one) for one in report.findings), batch_size=1_000)
    audit.record(
        action="reconciliation.recorded",
        actor=actor,
        business=None,
        target=str(made.pk),
        after={"file": made.file_name, "currency": report.currency or "all", **report.counts},
        now=now,
    )
    return made


def _line(made: Reconciliation, found: Finding) -> ReconciliationLine:
    row, entry = found.row, found.entry
    side = found.side
    return ReconciliationLine(
        reconciliation=made,
        result=found.result,
        line=row.line if row else None,
        reference=reference_of(found),
        amount=side.amount,
        currency=side.currency,
        day=side.day,
        direction=side.direction,
        kind=entry.kind if entry else "",
        entry_id=entry.id if entry else None,
        differences=found.differences,
    )


def reference_of(found: Finding) -> str:
    """Return the reference on the statement, or the expected one if it is missing there."""
    if found.row:
        return found.row.reference
    return found.entry.references[0] if found.entry else ""
