"""Requests that the HTTP server rejects get problem documents that contain no request data."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from kit.free_ports import free_port
from tests import database_copies
from tests.journeys.service import PROJECT

PAN = b"5555555555554444"
SECRET = b"sk_sandbox_kestrelsecret"
REQUESTS = {
    "request line": (b"GET /%s?%s HTTP/1.1 x y\r\nHost: x\r\n\r\n" % (PAN, SECRET), 400, "invalid_request"),
    "method": (b"get%s /x HTTP/1.1\r\nHost: x\r\n\r\n" % PAN, 400, "invalid_request"),
    "version": (b"GET / HTTP/9.%s\r\nHost: x\r\n\r\n" % PAN, 400, "invalid_request"),
    "header": (b"GET / HTTP/1.1\r\nHost: x\r\nX %s: %s\r\n\r\n" % (PAN, SECRET), 400, "invalid_request"),
    "length": (b"POST /api/payments HTTP/1.1\r\nHost: x\r\nContent-Length: %s!\r\n\r\n" % PAN, 400, "invalid_request"),
    "transfer coding": (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: %s\r\n\r\n" % PAN, 400, "invalid_request"
    ),
    "long target": (b"GET /api/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % (b"%s/" % PAN * 1000), 414, "uri_too_long"),
    "large headers": (
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 400) for n in range(200)) + b"\r\n",
        431,
        "headers_too_large",
    ),
    "long header": (b"GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n" % (SECRET * 2000), 431, "headers_too_large"),
}  # fmt: skip


def start(command, folder, port):
    environment = os.environ | {
        "SANDBOX_DATA": str(folder / "data"),
        "WEB_BIND": f"127.0.0.1:{port}",
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "DATABASE_URL": "",
        "REDIS_URL": "",
    }
    (folder / "data").mkdir()
    database_copies.copy_to(folder / "data" / "db.sqlite3")
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, *command], cwd=PROJECT, env=environment, stdout=log, stderr=log
        )


@pytest.fixture(scope="module", params=["production", "sandbox"])
def server(request, tmp_path_factory):
    """Gunicorn as started in production, and the sandbox, each with its log."""
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    command = {
        "production": ["-m", "gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi"],
        "sandbox": ["manage.py", "sandbox", "--port", str(port), "--data", str(folder / "data")],
    }[request.param]
    process = start(command, folder, port)
    try:
        wait_until_it_listens(port, process)
        yield port, folder / "log"
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_until_it_listens(port, process):
    ends_at = time.monotonic() + 60
    while time.monotonic() < ends_at:
        assert process.poll() is None
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server does not listen")


def ask(port, request):
    """Send bytes; return status, headers and body of the response."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request)
        received = b""
        while chunk := receive(connection):
            received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


def receive(connection):
    try:
        return connection.recv(65536)
    except ConnectionResetError:  # it closed before it had read all of the request
        return b""


@pytest.mark.journey
class TestRefusals:
    @pytest.mark.long
    def test_are_problems_without_request_data(self, server):
        port, log = server
        for name, (request, status, code) in REQUESTS.items():
            answered, headers, body = ask(port, request)

            assert answered == status, name
            assert headers["content-type"] == "application/problem+json", name
            problem = json.loads(body)
            assert problem["code"] == code, name
            assert problem["status"] == status
            assert problem["type"] == f"http://127.0.0.1:{port}/docs/errors/{code}"
            assert problem["request_id"] == headers["x-request-id"]
            assert PAN not in body
            assert SECRET not in body
        logged = log.read_bytes()
        assert PAN not in logged
        assert b"kestrel" not in logged

    def test_are_pages_for_browsers(self, tmp_path):
        """The sandbox has no nginx in front of it, which serves its own page."""
        port = free_port()
        process = start(
            ["manage.py", "sandbox", "--port", str(port), "--data", str(tmp_path / "data")], tmp_path, port
        )
        try:
            wait_until_it_listens(port, process)
            status, headers, body = ask(
                port,
                b"POST /dashboard/login/ HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nContent-Length: 5000000\r\n\r\n",
            )
        finally:
            process.terminate()
            process.wait(timeout=30)

        assert (status, headers["content-type"]) == (413, "text/html; charset=utf-8")
        assert b"<h1>Bad request</h1>" in body


@pytest.mark.journey
class TestScriptName:
    """The header SCRIPT_NAME, which gunicorn accepts from local clients by default."""

    @pytest.mark.long
    def test_does_not_change_paths(self, server):
        port, log = server
        call = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nSCRIPT_NAME: %s\r\nConnection: close\r\n\r\n"

        moved, _, _ = ask(port, call % (b"/public/livez", b"/public"))
        other, _, _ = ask(port, call % (b"/livez?token=%s" % SECRET, b"/nowhere"))

        assert (moved, other) == (404, 200)
        assert "Traceback" not in log.read_text()
