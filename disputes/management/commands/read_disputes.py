from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from disputes.models import DisputeReport
from disputes.rules import report_format
from disputes.services.reports import report_files
from kit.db import clock
from kit.terminal.progress import show_progress
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand

LONGEST_NAME = 255  # characters of a file's name that are kept


class Command(DocumentCommand):
    help = (
        "Read a file in which an acquirer reports disputes: CSV with the columns "
        f"{', '.join(report_format.COLUMNS)}. Each row is matched to its payment; a row that fits none, or can't be read, "
        "is kept as unmatched, with the reason. Reading a file again changes nothing. Exits with 2 if the "
        "file can't be read or has another heading. Example: manage.py read_disputes --file disputes.csv --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--file", required=True, type=Path, help="the file")
        parser.add_argument(
            "--account", metavar="NAME", help="the acquirer (default: the only one that sends files)"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="show the result without changing anything"
        )
        super().add_arguments(parser)

    def handle(self, *, file: Path, account: str | None, dry_run: bool, json: bool, **options: Any) -> None:
        try:
            of = report_files.account_of(account)
            rows = report_format.read(_content(file))
        except (report_files.SendsNoFiles, report_format.InvalidFile) as problem:
            raise CommandError(f"{file.name} was not read: {problem}", returncode=2) from None
        where: dict[str, Any] = {"source": file.name[:LONGEST_NAME], "now": clock.now()}
        act = report_files.rehearse if dry_run else report_files.take_rows
        taken = show_progress(act(rows, of, **where), total=len(rows), stream=self.stderr)
        counts = report_files.count(taken)
        matched = counts.pop("matched", 0)
        document = {
            "file": file.name,
            "account": of.connector,
            "dry_run": dry_run,
            "rows": len(rows),
            "matched": matched,
            "unmatched": sum(counts.values()),
            "why": dict(counts),
        }
        self.show(document, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        is_rehearsed = document["dry_run"]
        yield f"{counted(document['rows'], 'row')}: {document['matched']} matched, {document['unmatched']} unmatched."
        for why, number in document["why"].items():
            yield f"  {number} {DisputeReport.Why(why).label.lower()}"
        if is_rehearsed:
            yield "Nothing was stored."
        elif document["unmatched"]:
            yield "They are kept with their reasons. Correct the rows, or read the file again once the payments exist."


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(report_format.LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid file name"
        raise report_format.InvalidFile(f"{reason}.") from None
