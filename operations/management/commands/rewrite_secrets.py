from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from kit.db.encrypted_field import UnreadableSecret
from merchants.commands import Document, DocumentCommand
from operations.key_rotation import Rewritten, rewrite

PROGRESS_EVERY = 100_000  # secrets


class Command(DocumentCommand):
    help = (
        "Encrypt every stored secret with the first of FIELD_ENCRYPTION_KEYS, so that the others can be "
        "removed. Example: manage.py rewrite_secrets --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="show the numbers without changing")

    def handle(self, *, dry_run: bool, json: bool, **options: Any) -> None:
        columns: dict[str, Rewritten] = {}
        try:
            for so_far in rewrite(dry_run=dry_run):
                columns[so_far.column] = so_far
                if so_far.seen % PROGRESS_EVERY == 0:
                    self.stderr.write(f"{so_far.column}: {so_far.seen:,} so far")
        except UnreadableSecret as problem:
            raise CommandError(f"{problem} Restore the key it was encrypted with.") from None
        counts = [
            {"column": each.column, "seen": each.seen, "changed": each.changed} for each in columns.values()
        ]
        self.show({"dry_run": dry_run, "columns": counts}, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        verb = "Would rewrite" if document["dry_run"] else "Rewrote"
        for each in document["columns"]:
            yield f"{verb} {each['changed']:,} of {each['seen']:,} in {each['column']}."
