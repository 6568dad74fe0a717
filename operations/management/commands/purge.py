from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.utils import timezone

from kit.terminal.progress import show_progress
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from operations.retention import EVERYTHING, Kept


class Command(DocumentCommand):
    help = (
        "Purge data past its retention period: nonces, logged requests, bodies and attempts of finished "
        "deliveries, sessions, invitations. Transactions, the ledger and the audit trail are kept. "
        "Example: manage.py purge --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="show the numbers without deleting")

    def handle(self, *, dry_run: bool, json: bool, **options: Any) -> None:
        now = timezone.now()
        gone = {
            kept.name: self._old(kept, now) if dry_run else self._forget(kept, now) for kept in EVERYTHING
        }
        self.show({"dry_run": dry_run} | gone, as_json=json)

    def _old(self, kept: Kept, now: datetime) -> int:
        return int(kept.old(now=now).count())

    def _forget(self, kept: Kept, now: datetime) -> int:
        pieces = kept.purge(now=now)
        return sum(show_progress(pieces, total=None, stream=self.stderr, size=int, what=kept.many))

    def lines(self, document: Document) -> Iterable[str]:
        did = "Would delete" if document["dry_run"] else "Deleted"
        for kept in EVERYTHING:
            yield f"{did} {counted(document[kept.name], kept.one, kept.many)}."
