from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from merchants.progress import show_progress
from payments.services import expiry


class Command(BaseCommand):
    help = (
        "End what has run out of time: 3-D Secure challenges and authorisations. The schedule does this every "
        "second; run it by hand where no worker runs. Example: manage.py expire_due --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count, change nothing")

    def handle(self, *, dry_run: bool, **options: Any) -> None:
        now = timezone.now()
        due = expiry.overdue(now=now)
        if dry_run:
            self.stdout.write(f"Would expire {len(due)} transactions.")
            return
        ended = show_progress(expiry.expire(due, now=now), total=len(due), stream=self.stderr)
        self.stdout.write(f"Expired {sum(ended)} transactions.")
