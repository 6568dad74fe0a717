"""A worker on a host whose clock is wrong: python -m … SECONDS_AHEAD. Prints "ready", waits for a line, then works."""

import os
import sys
import time
from datetime import datetime, timedelta
from typing import Any

WORKS_FOR = 4.0  # seconds, on the monotonic clock


def main(ahead: float) -> None:
    import django  # noqa: PLC0415  (only as a program)

    django.setup()
    from django.utils import timezone  # noqa: PLC0415

    from payments.tasks import expire_due, requery_due  # noqa: PLC0415

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
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    main(float(sys.argv[1]))
