"""Run `settle`, killed at a named point: python -m tests.with_django tests.journeys.killed_settle POINT DAY"""

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.management import call_command

from payments.services.settlement.batches import batch_transitions, batches

POINTS = ("inside a chunk", "between chunks", "before the end", "at the end", "while payments follow")


def main(point: str, day: str) -> None:
    batches.CHUNK = batch_transitions.CHUNK = 2
    if point == "inside a chunk":  # its items are inserted, but not committed
        batch_transitions.set_settle_status = killing(batch_transitions.set_settle_status, calls=2)
    elif point == "between chunks":
        batches._take_step = killing(batches._take_step, calls=2)
    elif point == "before the end":  # the batch and its first payments are pending, but not committed
        batch_transitions.transition = killing(batch_transitions.transition, calls=1)
    elif point == "at the end":  # the batch and its first payments are pending
        batches._take_step = killing(batches._take_step, calls=4)
    elif point == "while payments follow":  # all but the last are pending
        batch_transitions._update_next = killing(batch_transitions._update_next, calls=1)
    call_command("settle", "--date", day, "--unfinished")


def killing(function: Callable[..., Any], *, calls: int) -> Callable[..., Any]:
    """Wrap a function so that this process is killed after the given number of calls."""
    done = 0

    @wraps(function)
    def and_kill(*args: Any, **kwargs: Any) -> Any:
        nonlocal done
        result = function(*args, **kwargs)
        done += 1
        if done == calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return and_kill


if __name__ == "__main__":
    main(*sys.argv[1:])
