from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any

from disputes.services import clock
from kit.db.clock import database_now
from kit.terminal.progress import show_progress
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from payments.services.settlement import debts, reserves
from payments.services.transactions import expiry


class Command(DocumentCommand):
    help = (
        "Expire overdue 3-D Secure challenges, authorisations, virtual account sessions and disputes, remind of "
        "disputes that wait for an answer, and return reserves. The scheduler does this every second. Run it manually if no worker runs. "
        "Example: manage.py expire_due --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="count without changing anything")

    def handle(self, *, dry_run: bool, json: bool, **options: Any) -> None:
        now = database_now()
        due = expiry.overdue(now=now)
        sessions = expiry.overdue_sessions(now=now)
        unreleased = expiry.unreleased()
        disputes, reminders = clock.overdue(now=now), clock.to_remind(now=now)
        if dry_run:
            counts = {
                "expired": len(due) + sessions,
                "released": len(unreleased),
                "disputes": len(disputes),
                "reminders": len(reminders),
                "reserves": len(reserves.due(now=now)),
            }
        else:
            each = chain(expiry.expire(due), _one_by_one(expiry.expire_sessions()))
            ended = sum(show_progress(each, total=len(due) + sessions, stream=self.stderr))
            voids = show_progress(expiry.release(unreleased), total=len(unreleased), stream=self.stderr)
            counts = {
                "expired": ended,
                "released": sum(voids),
                "disputes": sum(clock.expire(disputes)),
                "reminders": sum(clock.remind(reminders)),
                "reserves": reserves.return_due(now=now),
            }
            debts.update(now=now)
        self.show({"dry_run": dry_run} | counts, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        is_rehearsed, released = document["dry_run"], _authorisations(document["released"])
        yield f"{'Would expire' if is_rehearsed else 'Expired'} {_transactions(document['expired'])}."
        if document["released"]:  # expired by an earlier version, which opened no void
            yield (
                f"Would release {released} at the acquirer."
                if is_rehearsed
                else f"Opened the voids of {released}."
            )
        if document["disputes"]:
            yield f"{'Would expire' if is_rehearsed else 'Expired'} {counted(document['disputes'], 'dispute')}."
        if document["reminders"]:
            reminders = counted(document["reminders"], "dispute")
            yield f"{'Would remind' if is_rehearsed else 'Reminded'} of {reminders}."
        if document["reserves"]:
            held = counted(document["reserves"], "reserve")
            yield f"{'Would return' if is_rehearsed else 'Returned'} {held}."


def _transactions(count: int) -> str:
    return counted(count, "transaction")


def _authorisations(count: int) -> str:
    return counted(count, "expired authorisation")


def _one_by_one(batches: Iterable[int]) -> Iterator[bool]:
    for count in batches:
        yield from repeat(True, count)
