"""Share new connections between the web workers of a host.

All workers wait for the same listener. Whichever runs at that moment accepts the connection, and that is usually the one
that is working already: of sixteen connections that are opened at once and kept, one worker often had all. It then
serves them with one thread's Python at a time, while the other worker is idle.
"""

import selectors
import time
from typing import Any

from config.runtime.request_buffering import BufferedConnection, BufferingWorker

PAUSE = 0.01  # seconds that a busy worker leaves new connections to the others


class SharingWorker(BufferingWorker):
    """A worker that, while all its threads are busy, leaves new connections to other workers for a moment.

    It accepts again when a thread is free, and one connection after each PAUSE, in case the others are busy too.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._served = 0  # requests that threads have, or that wait for one
        self._paused_until: float | None = None
        self._has_paused = False  # accept the next connection, busy or not

    def enqueue_req(self, conn: BufferedConnection) -> None:
        self._served += 1
        super().enqueue_req(conn)

    def finish_request(self, conn: BufferedConnection, served: Any) -> None:
        self._served -= 1
        super().finish_request(conn, served)

    def accept(self, listener: Any) -> bool:
        if self.alive and self._is_busy() and not self._has_paused:
            self._pause()
            return False
        self._has_paused = False
        return super().accept(listener)

    def set_accept_enabled(self, enabled: bool) -> None:  # noqa: FBT001  (gunicorn's own)
        self._resume()
        super().set_accept_enabled(enabled)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        if self._paused_until is not None:
            timeout = min(timeout, max(self._paused_until - time.monotonic(), 0))
        super().wait_for_and_dispatch_events(timeout)
        if self._paused_until is not None and not (self._is_busy() and time.monotonic() < self._paused_until):
            self._resume()

    def _is_busy(self) -> bool:
        return bool(self.cfg.workers > 1 and self._served >= self.cfg.threads)

    def _pause(self) -> None:
        if self._paused_until is None:  # another listener may have paused it already
            self._paused_until = time.monotonic() + PAUSE
            for listener in self.sockets:
                self.poller.unregister(listener)

    def _resume(self) -> None:
        if self._paused_until is not None:
            self._paused_until, self._has_paused = None, True
            for listener in self.sockets:
                self.poller.register(listener, selectors.EVENT_READ, self.accept)
