from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from kit.db.clock import database_now
from kit.plurals import counted
from kit.progress import show_progress
from payments.services import requery


class Command(BaseCommand):
    help = (
        "Query the rails about every transaction, capture, void and refund with an unknown outcome, now instead "
        "of at the next scheduled query. Example: manage.py requery_pending --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count without querying")
        parser.add_argument("--due", action="store_true", help="only those whose next query is due")

    def handle(self, *, dry_run: bool, due: bool, **options: Any) -> None:
        now = database_now()
        unknown = requery.unanswered(due_at=now if due else None, unleased_at=now)
        if dry_run:
            self.stdout.write(f"Would query {_unknown_outcomes(len(unknown))}.")
            return
        asked = list(show_progress(requery.requery(unknown), total=len(unknown), stream=self.stderr))
        answered = sum(one.is_answered for one in asked)
        self.stdout.write(f"Queried {_unknown_outcomes(len(asked))}; {answered} answered.")


def _unknown_outcomes(count: int) -> str:
    return counted(count, "unknown outcome")
