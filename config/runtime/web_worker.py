"""gunicorn's threaded worker, which accepts all pending connections when it is stopped and seldom collects garbage."""

import time
from typing import Any

from config.runtime.closing_listeners import HANDSHAKES_WITHIN
from config.runtime.connection_sharing import SharingWorker
from config.runtime.server_errors import ProblemAnswers
from kit.garbage_collection import collect_less_often
from webhooks.listener_waits import waits


class WebWorker(ProblemAnswers, SharingWorker):
    """When it is stopped, the worker accepts the pending connections and closes the listener soon.

    gunicorn's own worker keeps the listener open until its last request is finished. For seconds, the kernel would
    accept connections that are never read and finally reset. With a closed listener, later connections are refused, and a
    proxy uses another host. `closing_listeners` keeps the close from resetting any.
    """

    def init_process(self) -> None:
        waits.allow(self.cfg.threads)
        super().init_process()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        collect_less_often()

    def handle_exit(self, sig: int, frame: Any) -> None:
        waits.stop()  # so that waiting polls don't delay the end
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: int, frame: Any) -> None:
        waits.stop()
        super().handle_quit(sig, frame)

    def set_accept_enabled(self, enabled: bool) -> None:  # noqa: FBT001  (gunicorn's own)
        if enabled or self.alive:  # if stopped while starting, it serves the pending connections, then ends
            super().set_accept_enabled(enabled)
            return
        self._accept_begun_handshakes()
        super().set_accept_enabled(enabled)
        for listener in self.sockets:
            while self.accept(listener):
                pass
            listener.close()

    def _accept_begun_handshakes(self) -> None:
        """Serve and accept as before, while the master's filter keeps others from beginning."""
        end = time.monotonic() + HANDSHAKES_WITHIN
        while (left := end - time.monotonic()) > 0:
            self.wait_for_and_dispatch_events(left)
