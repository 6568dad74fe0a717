from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.operations.key_rotation import Rewritten, rewrite
from kit.db.encrypted_field import UnreadableSecret


class Command(BaseCommand):
    help = (
        "Encrypt every stored secret with the first of FIELD_ENCRYPTION_KEYS, so that the others can be "
        "removed. Example: manage.py rewrite_secrets --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="show the numbers without changing")

    def handle(self, *, dry_run: bool, **options: Any) -> None:
        columns: dict[str, Rewritten] = {}
        try:
            for so_far in rewrite(dry_run=dry_run):
                columns[so_far.column] = so_far
                self.stderr.write(f"{so_far.column}: {so_far.seen:,}")
        except UnreadableSecret as problem:
            raise CommandError(f"{problem} Restore the key it was encrypted with.") from None
        for column in columns.values():
            verb = "Would rewrite" if dry_run else "Rewrote"
            self.stdout.write(f"{verb} {column.changed:,} of {column.seen:,} in {column.column}.")
