"""gunicorn's threaded worker, which takes in at its end whoever has already reached the door."""

from typing import Any

from config.runtime.request_buffering import BufferingWorker
from config.runtime.server_errors import ProblemAnswers


class WebWorker(ProblemAnswers, BufferingWorker):
    """When it is stopped it takes what waits at the listener, and closes that at once.

    gunicorn's own takes nothing more and keeps the listener until its last request is finished: for seconds
    the kernel goes on accepting connections that nobody will ever read, and resets them in the end. So closed,
    whoever comes later is refused, which a proxy takes for what it is, and goes to another host.
    """

    def set_accept_enabled(self, enabled: bool) -> None:  # noqa: FBT001  (gunicorn's own)
        super().set_accept_enabled(enabled)
        if enabled or self.alive:  # if stopped while it starts, it serves the waiting connections, then ends
            return
        for listener in self.sockets:
            self._take_all_from(listener)
            listener.close()

    def _take_all_from(self, listener: Any) -> None:
        taken = -1
        while taken != self.nr_conns:
            taken = self.nr_conns
            self.accept(listener)
