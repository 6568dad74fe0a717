import signal
import threading
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from kit import garbage_collection
from kit.plurals import counted
from merchants.commands import Document, DocumentCommand
from webhooks import dispatcher, poll


class Command(DocumentCommand):
    help = (
        "Send due webhook deliveries, without Celery, until Ctrl-C; with --once until nothing is due. "
        "Example: manage.py deliver_webhooks --once"
    )
    # The checks import the whole API, a third of this process's memory. `migrate` runs them instead.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--once", action="store_true", help="stop when nothing is due")

    def handle(self, *, once: bool, json: bool, **options: Any) -> None:
        stopped = threading.Event()

        def stop(*_: Any) -> None:
            stopped.set()
            dispatcher.stop_gracefully()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        garbage_collection.collect_less_often()
        total = 0
        for made in (
            [dispatcher.dispatch_due(stopped=stopped)]
            if once
            else poll.poll_due(stopped, linger=dispatcher.LINGER)
        ):
            total += made
            if made:
                self.stderr.write(f"{counted(total, 'attempt')} made")
        self.show({"attempts": total}, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        yield f"Made {counted(document['attempts'], 'attempt')}."
