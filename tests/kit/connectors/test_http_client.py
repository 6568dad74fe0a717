"""Calls to providers, in plain HTTP and over TLS."""

import socket
import ssl
import threading
import time
from contextlib import contextmanager, suppress

import pytest
import trustme

from kit.connectors.http_client import HttpClient, HttpRequest, NoAnswer

ANSWER = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nX-Name: value\r\n\r\nOK"


class Server:
    """A server that answers every request with the same pieces, with a pause after each."""

    def __init__(self, listener, *, tls=None):
        self.tls, self.listener = tls, listener
        self.pieces, self.pause, self.connections = [ANSWER], 0.0, 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                caller, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller):
        with suppress(OSError), caller:
            if self.tls:
                caller = self.tls.wrap_socket(caller, server_side=True)
            while _read_request(caller):
                for piece in self.pieces:
                    caller.sendall(piece)
                    time.sleep(self.pause)


def _read_request(caller):
    """Read a request with a body of known length, and return whether there was one."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = caller.recv(4096)
        if not piece:
            return False
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    length = next((int(each[15:]) for each in head.split(b"\r\n") if each.startswith(b"Content-Length:")), 0)
    while len(body) < length:
        body += caller.recv(4096)
    return True


@contextmanager
def serving(*, tls=None):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Server(listener, tls=tls)


@pytest.fixture(params=["http", "https"])
def service(request, tmp_path):
    """A server, its address, and a client that trusts it."""
    if request.param == "http":
        with serving() as server:
            yield server, f"http://127.0.0.1:{server.listener.getsockname()[1]}/", HttpClient()
        return
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with serving(tls=context) as server:
        address = f"https://127.0.0.1:{server.listener.getsockname()[1]}/"
        yield server, address, HttpClient(ca_file=str(tmp_path / "ca.pem"))


def test_connection_is_kept_for_further_calls(service):
    server, address, client = service

    answers = [client.call(HttpRequest("POST", address, body=b"{}"), timeout=5) for _ in range(3)]

    assert [(each.status, each.headers["x-name"], each.body) for each in answers] == [
        (201, "value", b"OK")
    ] * 3
    assert server.connections == 1


def test_large_body_arrives(service):
    _, address, client = service

    assert client.call(HttpRequest("POST", address, body=b"x" * 2_000_000), timeout=10).status == 201


@pytest.mark.parametrize(
    "begins", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"]
)
def test_answer_that_drips_ends_in_time(service, begins):
    """Each piece comes well within the time-out, and all of them would take a minute."""
    server, address, client = service
    client.call(HttpRequest("GET", address), timeout=5)
    server.pieces, server.pause = [begins, *[b"x"] * 1200], 0.05

    begun = time.monotonic()
    with pytest.raises(NoAnswer, match="too late"):
        client.call(HttpRequest("GET", address), timeout=0.3)

    assert time.monotonic() - begun < 2


def test_peer_that_takes_nothing_ends_in_time(service, monkeypatch):
    _, address, client = service
    client.call(HttpRequest("GET", address), timeout=5)
    reading = threading.Event()
    monkeypatch.setattr(f"{__name__}._read_request", lambda _caller: reading.wait(5))

    begun = time.monotonic()
    with pytest.raises(NoAnswer):
        client.call(HttpRequest("POST", address, body=b"x" * 20_000_000), timeout=0.3)

    assert time.monotonic() - begun < 2
    reading.set()


def test_peer_that_never_shakes_hands_ends_in_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        with pytest.raises(NoAnswer, match="too late"):
            HttpClient().call(
                HttpRequest("GET", f"https://127.0.0.1:{silent.getsockname()[1]}/"), timeout=0.3
            )

    assert time.monotonic() - begun < 2
