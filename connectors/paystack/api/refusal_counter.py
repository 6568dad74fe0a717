"""Equal refusals in a row that Paystack doesn't document. After five, staff have to look."""

import re
import threading

from payments.rails.protocol import RailBlocked

MOST_EQUAL = 5
_VARIABLE = re.compile(r"\d+")  # numbers and amounts in a text


class RefusalCounter:
    """Counts equal refusals of a process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last, self._count = "", 0

    def count(self, code: str, message: str) -> None:
        """Count a refusal, after which nothing is known about the order.

        :raises RailBlocked: it is the fifth equal one in a row
        """
        mark = code or _VARIABLE.sub("#", message)
        with self._lock:
            self._count = self._count + 1 if mark == self._last else 1
            self._last = mark
            if self._count < MOST_EQUAL:
                return
        raise RailBlocked(f"Paystack refused {MOST_EQUAL} transfers in a row: {message}")

    def reset(self) -> None:
        """Forget what was counted, because Paystack has accepted or definitely refused a transfer."""
        with self._lock:
            self._last, self._count = "", 0
