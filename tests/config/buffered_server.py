"""A gunicorn configuration for tests: the web worker with two threads and short deadlines, and an echo.

Run as `gunicorn -c python:tests.config.buffered_server tests.config.buffered_server:echo`.
"""

import os

import django

from config import request_buffering

request_buffering.HEADERS_WITHIN = 3.0
request_buffering.BODY_WITHIN = 3.0

worker_class = "config.web_worker.WebWorker"
threads = 2
keepalive = 30
loglevel = "error"
control_socket_disable = True


def post_worker_init(_worker):
    """Load what answers of the server itself are made of."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()


def echo(environ, start_response):
    """Answer with the length of the body that the application could read."""
    wanted = int(environ.get("CONTENT_LENGTH") or 0)
    body = str(len(environ["wsgi.input"].read(wanted))).encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
