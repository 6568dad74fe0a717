"""A gunicorn configuration for tests: the web worker with two threads and low limits, and an echo
application.

Run as `gunicorn -c python:tests.config.runtime.buffered_server tests.config.runtime.buffered_server:echo`.
"""

import os
import socket
import tempfile
import time
from functools import partial

import django

from config.runtime import request_buffering, response_buffering
from config.runtime.closing_listeners import drop_new_connections_at_stop

request_buffering.HEADERS_WITHIN = 3.0
request_buffering.BODY_WITHIN = 3.0
request_buffering.SEND_TIMEOUT = response_buffering.SEND_TIMEOUT = 3
request_buffering.RESPONSES_BUFFERED = 10_000_000

LARGE = 2_000_000  # bytes: less than a connection may buffer
THREAD_BUSY = 0.2  # seconds
PIECES = 100
PIECE = bytes(range(250)) * 400

worker_class = "config.runtime.web_worker.WebWorker"
threads = 2
keepalive = 30
loglevel = "error"
control_socket_disable = True
slow_close = float(os.environ.get("SLOW_CLOSE", "0"))  # seconds between the last accept and the close

SO_LOCK_FILTER = 44  # asm-generic/socket.h: refuses filters to everybody from now on


def when_ready(server):
    if "NO_FILTERS" in os.environ:
        for listener in server.LISTENERS:
            listener.sock.setsockopt(socket.SOL_SOCKET, SO_LOCK_FILTER, 1)
    drop_new_connections_at_stop(server)


def post_worker_init(worker):
    """Load the templates of the server's own error responses."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for listener in worker.sockets:
        listener.close = partial(_close_slowly, listener.close)


def _close_slowly(close):
    time.sleep(slow_close)
    close()


def echo(environ, start_response):
    """Answer with the length of the body that the application could read, a large response, or the process's id."""
    if environ["PATH_INFO"] == "/large":
        start_response("200 OK", [("Content-Length", str(LARGE))])
        return [PIECE * (LARGE // len(PIECE))]
    if environ["PATH_INFO"] == "/file":
        start_response("200 OK", [("Content-Length", str(LARGE))])
        return environ["wsgi.file_wrapper"](_file())
    if environ["PATH_INFO"] == "/pieces":
        start_response("200 OK", [("Content-Length", str(len(PIECE) * PIECES))])
        return (PIECE for _ in range(PIECES))
    if environ["PATH_INFO"] == "/process":
        time.sleep(THREAD_BUSY)
        body = str(os.getpid())
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body.encode()]
    wanted = int(environ.get("CONTENT_LENGTH") or 0)
    body = str(len(environ["wsgi.input"].read(wanted))).encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


def _file():
    """Return an open file with the large response."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  (gunicorn closes it)
    file.write(PIECE * (LARGE // len(PIECE)))
    file.seek(0)
    return file
