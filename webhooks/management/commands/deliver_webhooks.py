import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from webhooks import drain

PAUSE = 1.0  # seconds between two looks


class Command(BaseCommand):
    help = (
        "Send due webhook deliveries, without Celery, until Ctrl-C; with --once until nothing is due. "
        "Example: manage.py deliver_webhooks --once"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="stop when nothing is due any more")

    def handle(self, *, once: bool, **options: Any) -> None:
        stopped = threading.Event()

        def stop(*_: Any) -> None:
            stopped.set()
            drain.stop_gracefully()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        total = 0
        while not stopped.is_set():
            made = drain.drain_once()
            total += made
            if made:
                self.stderr.write(f"{total:,} attempts made")
            if once:
                break
            stopped.wait(PAUSE)
        self.stdout.write(f"Made {total} attempts.")
