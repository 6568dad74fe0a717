import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from kit.api.fields.strict_fields import CURRENCIES
from kit.db import clock
from kit.money.money import money
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from merchants.people.audit import Actor
from payments.models import Reconciliation, ReconciliationLine
from payments.rules import bank_statement_parser
from payments.services.reconciliation import reconciliation
from payments.services.reconciliation.reconciliation import Finding, Report

Result = ReconciliationLine.Result
LONGEST_ACTOR = 254  # characters, the column's length
LARGEST_FILE = 256 * 1024 * 1024  # bytes
EXAMPLE = "manage.py reconcile --file acquirer.csv --source acquirer --from 2026-01-01 --to 2026-01-31"
LABELS = {
    Result.DIFFERENT: "different",
    Result.MISSING_HERE: "missing here",
    Result.MISSING_THERE: "missing there",
}


class Command(DocumentCommand):
    help = (
        "Compare a statement of the acquirer or the bank with the ledger, by reference, amount and day. The "
        "file is CSV with the columns reference, amount (minor units), currency, day (YYYY-MM-DD) and "
        "direction (in or out). Nothing is changed. --apply records the result and moves no money. Exits with 1 "
        "if anything differs, and with 2 if a line is invalid: invalid lines are listed, the others are compared, "
        "and nothing is recorded. "
        f"Example: {EXAMPLE}"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--file", required=True, type=Path, help="the statement")
        parser.add_argument(
            "--source",
            choices=Reconciliation.Source.values,
            default=Reconciliation.Source.BOTH.value,
            help="who issued the statement; decides which ledger lines must be on it (default: both)",
        )
        parser.add_argument("--from", dest="first", metavar="D", help="the first business day (required)")
        parser.add_argument("--to", dest="last", metavar="D", help="the last business day (required)")
        parser.add_argument("--currency", metavar="C", help="compare this currency only (default: all)")
        parser.add_argument("--apply", action="store_true", help="record the result")
        parser.add_argument("--by", default="reconcile", metavar="WHO", help="the name to record")
        super().add_arguments(parser)

    def handle(
        self,
        *,
        file: Path,
        source: str,
        first: str | None,
        last: str | None,
        currency: str | None,
        apply: bool,
        by: str,
        json: bool,
        **options: Any,
    ) -> None:
        first_day, last_day = _period(first, last)
        if currency is not None and currency not in CURRENCIES:
            raise CommandError("--currency must be a code of ISO 4217, such as NGN.", returncode=2)
        content = _read(file)
        if not by.strip() or len(by) > LONGEST_ACTOR:
            raise CommandError(f"--by must have 1 to {LONGEST_ACTOR} characters.", returncode=2)
        try:
            statement = bank_statement_parser.read(content)
        except bank_statement_parser.InvalidStatement as wrong:
            raise CommandError(f"{file.name} was not compared:\n{wrong}", returncode=2) from None
        report = reconciliation.compare(
            statement.rows,
            source=Reconciliation.Source(source),
            first=first_day,
            last=last_day,
            currency=currency,
        )
        recorded = None
        if apply and not statement.errors:
            recorded = reconciliation.record(
                report, file_name=file.name, content=content, actor=Actor(name=by), now=clock.now()
            )
        not_compared = {"wrong_lines": statement.wrong_lines, "errors": list(statement.errors)}
        self.show(_document(report, recorded) | not_compared, as_json=json)
        if statement.errors:
            lines = counted(statement.wrong_lines, "line was", "lines were")
            errors = "\n".join(statement.errors)
            raise CommandError(
                f"{lines} invalid and not compared. The others were compared:\n{errors}", returncode=2
            )
        if not report.is_clean:
            sys.exit(1)

    def lines(self, document: Document) -> Iterable[str]:
        for result, words in LABELS.items():
            for one in document[result]:
                where = f"line {one['line']}" if one["line"] else one["kind"]
                what = "".join(
                    f"  {name}: {_side(name, there, one)} there, {_side(name, here, one)} here"
                    for name, (there, here) in one["differences"].items()
                )
                yield (
                    f"{words:>13}  {where}  {one['reference']}  {one['day']}  {one['direction']}"
                    f"  {money(one['amount'], one['currency'])}{what}"
                )
        counts = document["counts"]
        yield (
            f"{document['first_day']} to {document['last_day']}: {counts['matched']:,} matched, "
            f"{counts['different']:,} different, {counts['missing_here']:,} missing here, "
            f"{counts['missing_there']:,} missing there."
        )
        yield f"Recorded as {document['recorded']}." if document["recorded"] else "Nothing was recorded."


def _period(first: str | None, last: str | None) -> tuple[date, date]:
    days = [_day("--from", first), _day("--to", last)]
    if days[0] > days[1]:
        raise CommandError(f"--from must not be after --to.\nExample: {EXAMPLE}", returncode=2)
    return days[0], days[1]


def _day(option: str, text: str | None) -> date:
    cell = bank_statement_parser.CELLS["day"]
    day: date | None = cell.read(text or "")
    if day is None:
        raise CommandError(f"{option} must be {cell.says}.\nExample: {EXAMPLE}", returncode=2)
    return day


def _side(name: str, value: Any, finding: Document) -> str:
    """Return one side of a difference, with an amount formatted as money."""
    return money(value, finding["currency"]) if name == "amount" else str(value)


def _read(file: Path) -> bytes:
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise CommandError(f"{file} is larger than {LARGEST_FILE // 2**20} MiB.", returncode=2)
        return file.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid file name"
        raise CommandError(f"{file} cannot be read: {reason}.", returncode=2) from None


def _document(report: Report, recorded: Reconciliation | None) -> Document:
    return {
        "source": report.source.value,
        "currency": report.currency,
        "first_day": report.first_day.isoformat(),
        "last_day": report.last_day.isoformat(),
        "counts": report.counts,
        **{result.value: [_shown(one) for one in report.of(result)] for result in LABELS},
        "recorded": str(recorded.pk) if recorded else None,
    }


def _shown(found: Finding) -> Document:
    side = found.side
    return {
        "line": found.row.line if found.row else None,
        "reference": reconciliation.reference_of(found),
        "kind": found.entry.kind if found.entry else None,
        "id": str(found.entry.id) if found.entry else None,
        "amount": side.amount,
        "currency": side.currency,
        "day": side.day.isoformat(),
        "direction": side.direction,
        "differences": found.differences,
    }
