"""Slow clients against the web worker: a real gunicorn with two threads and an echo application."""

import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest

from config.runtime import request_buffering
from config.runtime.embedded import EmbeddedServer
from config.runtime.local_production import _certificate
from tests.config.runtime.buffered_server import LARGE, PIECE, PIECES
from tests.journeys.service import PROJECT, free_port

SLOW_CLIENTS = 20
CLIENT_TIMEOUT = 10  # seconds; a client that waits for a thread waits longer

pytestmark = [pytest.mark.journey, pytest.mark.long]


@contextmanager
def server(*options):
    port = free_port()
    name = "tests.config.runtime.buffered_server"
    command = [sys.executable, "-m", "gunicorn", "-c", f"python:{name}", "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen([*command, *options, f"{name}:echo"], cwd=PROJECT)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port, process
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0


@pytest.fixture(scope="module")
def plain():
    with server() as (port, _):
        assert call(port) == ("200", "5")  # the worker has started, and not only the listener
        yield port


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    certificate, key = _certificate(tmp_path_factory.mktemp("tls"))
    with server("--certfile", str(certificate), "--keyfile", str(key)) as (port, _):
        yield port, certificate


def request(body=b"", *headers, length=None):
    lines = ["POST / HTTP/1.1", "Host: test", f"Content-Length: {len(body) if length is None else length}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def connect(port):
    sock = socket.socket()
    sock.settimeout(CLIENT_TIMEOUT)
    # On the loopback interface a segment is so large that the kernel would buffer 4 MB of unread responses.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
    sock.connect(("127.0.0.1", port))
    return sock


def read_answer(sock):
    """Return the status and the body of the next response on a connection."""
    status, body = read_bytes(sock)
    return status, body.decode()


def read_large(sock):
    """Return the body of the next response on a connection."""
    return read_bytes(sock)[1]


def read_bytes(sock):
    received = b""
    while b"\r\n\r\n" not in received:
        data = sock.recv(1)
        if not data:
            raise ConnectionError(received)
        received += data
    head = received.decode()
    length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
    body = bytearray()
    while len(body) < length:
        data = sock.recv(min(length - len(body), 65536))
        if not data:
            raise ConnectionError(f"{len(body)} of {length} bytes")
        body += data
    return head.split()[1], bytes(body)


def call(port, wrap=lambda sock: sock):
    with wrap(connect(port)) as sock:
        sock.sendall(request(b"hello"))
        return read_answer(sock)


@contextmanager
def slow_clients(port, *sent):
    """Hold connections that have sent only these pieces, one at a time."""
    with ExitStack() as held:
        clients = [held.enter_context(connect(port)) for _ in range(SLOW_CLIENTS)]
        for piece in sent:
            for each in clients:
                each.sendall(piece)
        yield clients


def large(target="/large", count=3):
    """Return requests for responses that are larger than what the kernel buffers."""
    return f"GET {target} HTTP/1.1\r\nHost: test\r\n\r\n".encode() * count


SLOW = {
    "nothing": [],
    "half of the headers": [b"POST / HTTP/1.1\r\nHost: test\r\nX-"],
    "half of the body": [request(b"half", length=1000)],
    "a chunked body without an end": [request(b"", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n"],
    "half of a body that is too large": [request(b"x" * 1000, length=10_000_000)],
    "half of a body with two lengths": [request(b"half", "Content-Length: 9", length=1000)],
    "a request and half of the next one": [request(b"hello") + b"POST / HTTP/1.1\r\nHost"],
    "a request, then half of the next one": [request(b"hello"), b"POST / HTTP/1.1\r\nHost"],
    "requests whose responses it does not read": [large()],
    "a last request, and a connection left open": [request(b"hello", "Connection: close")],
}


class TestSlowClients:
    @pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW)
    def test_do_not_delay_others(self, plain, sent):
        with slow_clients(plain, *sent):
            assert [call(plain) for _ in range(5)] == [("200", "5")] * 5

    def test_do_not_delay_others_over_tls(self, secured):
        port, certificate = secured
        trusting = ssl.create_default_context(cafile=certificate)

        def wrap(sock):
            return trusting.wrap_socket(sock, server_hostname="127.0.0.1")

        hello = b"\x16\x03\x01\x02\x00\x01"  # the first bytes of a handshake
        with slow_clients(port), slow_clients(port, hello):
            assert [call(port, wrap) for _ in range(5)] == [("200", "5")] * 5

    def test_that_read_no_responses_do_not_delay_others_over_tls(self, secured):
        port, certificate = secured
        trusting = ssl.create_default_context(cafile=certificate)

        def wrap(sock):
            return trusting.wrap_socket(sock, server_hostname="127.0.0.1")

        with ExitStack() as held:
            for _ in range(SLOW_CLIENTS):
                held.enter_context(wrap(connect(port))).sendall(large())
            assert [call(port, wrap) for _ in range(5)] == [("200", "5")] * 5

    @pytest.mark.parametrize("sent", [b"", b"POST / HTTP/1.1\r\nX-", request(b"half", length=1000)])
    def test_are_disconnected(self, plain, sent):
        with slow_clients(plain, sent) as clients:
            for each in clients:
                assert each.recv(1) == b""

    def test_are_disconnected_although_they_keep_sending(self, plain):
        with connect(plain) as sock, pytest.raises(ConnectionError):  # noqa: PT012
            sock.sendall(b"POST / HTTP/1.1\r\nX-Slow: ")
            for _ in range(100):
                sock.sendall(b"a")
                time.sleep(0.1)


class TestRequests:
    def test_are_served_in_sequence_on_a_connection(self, plain):
        with connect(plain) as sock:
            for body in (b"one", b"", b"three"):
                sock.sendall(request(body))
                assert read_answer(sock) == ("200", str(len(body)))

    def test_sent_at_once_are_answered_in_order(self, plain):
        with connect(plain) as sock:
            sock.sendall(request(b"a") + request(b"bb") + request(b"ccc"))
            assert [read_answer(sock) for _ in range(3)] == [("200", "1"), ("200", "2"), ("200", "3")]

    def test_may_arrive_in_pieces(self, plain):
        with connect(plain) as sock:
            for byte in request(b"hello"):
                sock.sendall(bytes([byte]))
            assert read_answer(sock) == ("200", "5")

    def test_of_the_largest_size_arrive_complete(self, plain):
        with connect(plain) as sock:
            sock.sendall(request(b"x" * 64 * 1024))
            assert read_answer(sock) == ("200", str(64 * 1024))

    def test_that_end_early_are_served_with_the_received_part(self, plain):
        with connect(plain) as sock:
            sock.sendall(request(b"half", length=1000))
            sock.shutdown(socket.SHUT_WR)
            assert read_answer(sock) == ("200", "4")

    @pytest.mark.parametrize("headers", [["Expect: 100-continue"], ["Expect: 100-continue", "X-Other: 1"]])
    def test_wait_for_continue(self, plain, headers):
        with connect(plain) as sock:
            sock.sendall(request(b"", *headers, length=5))
            assert sock.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
            sock.sendall(b"hello")
            assert read_answer(sock) == ("200", "5")

    def test_with_oversized_headers_are_rejected(self, plain):
        with connect(plain) as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nX-Large: " + b"a" * 70_000)
            assert read_answer(sock)[0] == "431"


class TestResponses:
    """The client begins to read only after the server has blocked on it."""

    @pytest.mark.parametrize(
        ("target", "size"), [("/large", LARGE), ("/file", LARGE), ("/pieces", len(PIECE) * PIECES)]
    )
    def test_arrive_complete_and_in_order(self, plain, target, size):
        with connect(plain) as sock:
            sock.sendall(large(target))
            time.sleep(1)
            for _ in range(3):
                assert read_large(sock) == PIECE * (size // len(PIECE))
            sock.sendall(request(b"hello"))
            assert read_answer(sock) == ("200", "5")

    @pytest.mark.parametrize(("target", "size"), [("/large", LARGE), ("/pieces", len(PIECE) * PIECES)])
    def test_arrive_complete_over_tls(self, secured, target, size):
        port, certificate = secured
        trusting = ssl.create_default_context(cafile=certificate)
        with trusting.wrap_socket(connect(port), server_hostname="127.0.0.1") as sock:
            sock.sendall(large(target))
            time.sleep(1)
            for _ in range(3):
                assert read_large(sock) == PIECE * (size // len(PIECE))

    def test_that_are_not_read_are_abandoned(self, plain):
        with connect(plain) as sock:
            sock.sendall(large(count=1))
            time.sleep(5)
            with pytest.raises(ConnectionError):
                read_large(sock)

    def test_are_limited_in_total_size(self, plain):
        with slow_clients(plain, large(count=1)) as [first, *_, last]:
            time.sleep(0.5)
            with pytest.raises(ConnectionError):
                read_large(first)
            assert len(read_large(last)) == LARGE


class TestFullWorker:
    def test_closes_idle_connections_for_new_ones(self):
        with server("--worker-connections", "6") as (port, _), ExitStack() as held:
            for _ in range(4):
                sock = held.enter_context(connect(port))
                sock.sendall(request(b"hello"))
                assert read_answer(sock) == ("200", "5")
            for _ in range(2):
                held.enter_context(connect(port)).sendall(b"POST / HTTP/1.1\r\n")
            started = time.monotonic()
            assert call(port) == ("200", "5")
            assert time.monotonic() - started < request_buffering.HEADERS_WITHIN - 1


class TestStop:
    def test_serves_complete_requests_and_drops_incomplete_ones(self):
        with server() as (port, process), connect(port) as half, connect(port) as whole:
            assert call(port) == ("200", "5")  # it has started
            half.sendall(b"POST / HTTP/1.1\r\n")
            whole.sendall(request(b"hello"))
            process.send_signal(signal.SIGTERM)
            assert read_answer(whole) == ("200", "5")
            assert half.recv(1) == b""


def test_embedded_service_uses_the_same_worker():
    server = EmbeddedServer(port=0, when_ready=lambda: None)

    assert server.cfg.worker_class_str == "config.runtime.web_worker.WebWorker"
