"""A worker on a host whose clock is wrong: python -m tests.with_django … SECONDS_AHEAD. Prints "ready", waits for a line, then works."""

import sys
import time
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from payments.tasks import expire_due, requery_due

WORKS_FOR = 4.0  # seconds, on the monotonic clock


def main(ahead: float) -> None:
    now, wall_clock = timezone.now, time.time

    def skewed_now(*arguments: Any) -> datetime:
        return now(*arguments) + timedelta(seconds=ahead)

    timezone.now = skewed_now
    time.time = lambda: wall_clock() + ahead
    expire_due()
    print("ready", flush=True)
    sys.stdin.readline()
    end = time.monotonic() + WORKS_FOR
    while time.monotonic() < end:
        expire_due()
        requery_due()
        time.sleep(0.1)
    print("done", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
