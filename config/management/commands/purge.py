from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from merchants import authentication


class Command(BaseCommand):
    help = "Delete nonces that are past their retention. Example: manage.py purge --dry-run"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count, delete nothing")

    def handle(self, *, dry_run: bool, **options: Any) -> None:
        now = timezone.now()
        if dry_run:
            self.stdout.write(f"Would delete {authentication.old_nonces(now=now).count()} nonces.")
            return
        self.stdout.write(f"Deleted {authentication.forget_nonces(now=now)} nonces.")
