from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from merchants import authentication, request_log


class Command(BaseCommand):
    help = (
        "Delete nonces and logged requests that are past their retention. Example: manage.py purge --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count, delete nothing")

    def handle(self, *, dry_run: bool, **options: Any) -> None:
        now = timezone.now()
        if dry_run:
            self.stdout.write(f"Would delete {authentication.old_nonces(now=now).count()} nonces.")
            self.stdout.write(f"Would delete {request_log.old_requests(now=now).count()} logged requests.")
            return
        self.stdout.write(f"Deleted {authentication.forget_nonces(now=now)} nonces.")
        self.stdout.write(f"Deleted {sum(request_log.forget_requests(now=now))} logged requests.")
