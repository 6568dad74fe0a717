from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from kit.db.clock import database_now
from kit.terminal.progress import show_progress
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from payments.services import return_matching
from payments.services.rails import requery


class Command(DocumentCommand):
    help = (
        "Query the rails about every transaction, capture, void and refund with an unknown outcome, now instead "
        "of at the next scheduled query. Example: manage.py requery_pending --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="count without querying")
        parser.add_argument("--due", action="store_true", help="only those whose next query is due")

    def handle(self, *, dry_run: bool, due: bool, json: bool, **options: Any) -> None:
        now = database_now()
        unknown = requery.unanswered(due_at=now if due else None, unleased_at=now)
        asked = (
            []
            if dry_run
            else list(show_progress(requery.requery(unknown), total=len(unknown), stream=self.stderr))
        )
        if not dry_run:
            return_matching.match_ended()
        document = {
            "dry_run": dry_run,
            "queried": len(unknown) if dry_run else len(asked),
            "answered": sum(one.is_answered for one in asked),
        }
        self.show(document, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        outcomes = _unknown_outcomes(document["queried"])
        if document["dry_run"]:
            yield f"Would query {outcomes}."
        else:
            yield f"Queried {outcomes}; {document['answered']} answered."


def _unknown_outcomes(count: int) -> str:
    return counted(count, "unknown outcome")
