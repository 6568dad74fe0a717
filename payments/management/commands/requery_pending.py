from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from kit.db.clock import database_now
from kit.progress import show_progress
from payments.services import requery


class Command(BaseCommand):
    help = (
        "Ask the rails again about every transaction, capture, void and refund whose outcome is unknown. The "
        "schedule asks at growing intervals; this asks now. Example: manage.py requery_pending --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count, ask nobody")
        parser.add_argument("--due", action="store_true", help="only those whose next question is due")

    def handle(self, *, dry_run: bool, due: bool, **options: Any) -> None:
        now = database_now()
        unknown = requery.unanswered(due_at=now if due else None, unleased_at=now)
        if dry_run:
            self.stdout.write(f"Would ask about {len(unknown)} unknown outcomes.")
            return
        asked = list(show_progress(requery.requery(unknown), total=len(unknown), stream=self.stderr))
        answered = sum(one.is_answered for one in asked)
        self.stdout.write(f"Asked about {len(asked)} unknown outcomes; {answered} are known now.")
