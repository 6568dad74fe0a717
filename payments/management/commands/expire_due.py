from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any

from django.core.management.base import BaseCommand

from kit.db.clock import database_now
from kit.plurals import counted
from kit.progress import show_progress
from payments.services import expiry


class Command(BaseCommand):
    help = (
        "Expire overdue 3-D Secure challenges, authorisations and virtual account sessions. The scheduler does this "
        "every second. Run it manually if no worker runs. Example: manage.py expire_due --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count without changing anything")

    def handle(self, *, dry_run: bool, **options: Any) -> None:
        now = database_now()
        due = expiry.overdue(now=now)
        sessions = expiry.overdue_sessions(now=now)
        unreleased = expiry.unreleased()
        if dry_run:
            self.stdout.write(f"Would expire {_transactions(len(due) + sessions)}.")
            if unreleased:
                self.stdout.write(f"Would release {_authorisations(len(unreleased))} at the acquirer.")
            return
        each = chain(expiry.expire(due), _one_by_one(expiry.expire_sessions()))
        ended = show_progress(each, total=len(due) + sessions, stream=self.stderr)
        self.stdout.write(f"Expired {_transactions(sum(ended))}.")
        if unreleased:  # expired by an earlier version, which opened no void
            released = show_progress(expiry.release(unreleased), total=len(unreleased), stream=self.stderr)
            self.stdout.write(f"Opened the voids of {_authorisations(sum(released))}.")


def _transactions(count: int) -> str:
    return counted(count, "transaction")


def _authorisations(count: int) -> str:
    return counted(count, "expired authorisation")


def _one_by_one(batches: Iterable[int]) -> Iterator[bool]:
    for count in batches:
        yield from repeat(True, count)
