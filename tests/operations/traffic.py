"""Look-ups by a merchant, one after the other, while an operator upgrades."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE = 0.1  # seconds, which leave CPU time to the upgrade


@contextmanager
def flowing(call: Callable[[], int]) -> Iterator[Counter[int]]:
    """Repeat a call in a thread until the end of the block, and count the statuses that it returns."""
    statuses: Counter[int] = Counter()
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(PAUSE):
            statuses[call()] += 1

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield statuses
    finally:
        is_over.set()
        thread.join()
