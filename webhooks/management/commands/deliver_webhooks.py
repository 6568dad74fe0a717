import signal
import threading
from argparse import ArgumentParser
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.db import DatabaseError

from kit import garbage_collection
from kit.terminal.terminal import require_migrated_database
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from webhooks.sending import dispatcher


class Command(DocumentCommand):
    help = (
        "Send due webhook deliveries, without Celery, until Ctrl-C; with --once until nothing is due. "
        "Example: manage.py deliver_webhooks --once"
    )
    # The checks import the whole API, a third of this process's memory. `migrate` runs them instead.
    requires_system_checks = ()
    _reported = 0

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--once", action="store_true", help="stop when nothing is due")

    def handle(self, *, once: bool, json: bool, **options: Any) -> None:
        with suppress(DatabaseError):  # polling waits for a database that is unavailable
            require_migrated_database()
        stopped = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
        garbage_collection.collect_less_often()
        if once:
            total = dispatcher.Dispatcher(stopped=stopped).run(once=True)
        else:
            total = dispatcher.send_due(stopped, progress=self._report)
        self.show({"attempts": total}, as_json=json)

    def _report(self, total: int) -> None:
        if total != self._reported:
            self.stderr.write(f"{counted(total, 'attempt')} made")
        self._reported = total

    def lines(self, document: Document) -> Iterable[str]:
        yield f"Made {counted(document['attempts'], 'attempt')}."
