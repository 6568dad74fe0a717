"""The whole service in one process: web, webhooks and schedule on SQLite, without other servers.

waitress serves requests with threads. What workers and beat do in production runs in further threads.
"""

import signal
import threading
from collections.abc import Callable
from typing import Any

import waitress
from django.conf import settings

from config.runtime import background
from config.runtime.server_errors import ProblemChannel
from webhooks.listeners.listener_waits import waits

WEB_THREADS = 8
HEADERS = 32 * 1024  # bytes, with the request line
RESPONSE = 2 * 1024 * 1024  # bytes of a response that wait for the client, before a thread does


def serve(application: Any, *, port: int, when_ready: Callable[[], None]) -> None:
    """Serve on 127.0.0.1 until SIGINT or SIGTERM, with worker and schedule beside it.

    waitress receives a whole request, and sends what a client doesn't take of its response, in one loop. Slow clients
    occupy no threads. Bodies and responses stay in memory, below waitress's bounds for temporary files, because a card
    number must not reach the disk.
    """
    server = waitress.create_server(
        application,
        listen=f"127.0.0.1:{port}",
        threads=WEB_THREADS,
        ident=None,
        asyncore_use_poll=True,
        connection_limit=1000,
        channel_timeout=60,
        max_request_header_size=HEADERS,
        max_request_body_size=settings.MAX_FILE_BYTES + 1,  # the first length that is refused
        inbuf_overflow=settings.MAX_FILE_BYTES + 1,
        outbuf_high_watermark=RESPONSE,
        outbuf_overflow=4 * RESPONSE,
    )
    server.channel_class = ProblemChannel
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    waits.allow(WEB_THREADS)
    start_background()
    when_ready()
    server.run()


def _stop(_signal: int, _frame: Any) -> None:
    waits.stop()  # so that waiting polls don't delay the end
    raise SystemExit


def start_background() -> None:
    """Start the work of workers and beat in daemon threads."""
    from config.celery import FREQUENT, OCCASIONAL, app  # noqa: PLC0415  (it reads the settings)

    app.loader.import_default_modules()
    background.start(app, [*FREQUENT, *OCCASIONAL], threading.Event())
