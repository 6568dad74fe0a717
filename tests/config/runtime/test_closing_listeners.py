"""A web host that is stopped resets no connection: its clients get a response, or are refused and use another host."""

import errno
import signal
import socket
import threading
import time
from collections import Counter

import pytest

from config.runtime.closing_listeners import drop_new_connections
from tests.config.runtime.buffered_server import THREAD_BUSY
from tests.config.runtime.test_connection_sharing import TURN
from tests.config.runtime.test_request_buffering import (
    CLIENT_TIMEOUT,
    call,
    connect,
    read_answer,
    request,
    server,
)

CLIENTS = 24
PAUSE = 0.05  # seconds of a client between two connections

linux_only = pytest.mark.skipif("sys.platform != 'linux'", reason="the filter is Linux's")


@linux_only
class TestFilter:
    def test_keeps_completed_connections_and_lets_no_others_begin(self):
        with (
            socket.create_server(("127.0.0.1", 0)) as listening,
            socket.create_connection(listening.getsockname()) as earlier,
            socket.socket() as later,
        ):
            drop_new_connections(listening)

            later.settimeout(0.3)
            with pytest.raises(TimeoutError):
                later.connect(listening.getsockname())
            accepted, _ = listening.accept()
            with accepted:
                earlier.sendall(b"hello")
                assert accepted.recv(5) == b"hello"

    def test_lets_the_client_be_refused_once_the_socket_is_closed(self):
        with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as later:
            drop_new_connections(listening)
            later.settimeout(CLIENT_TIMEOUT)
            threading.Timer(0.2, listening.close).start()

            assert later.connect_ex(listening.getsockname()) == errno.ECONNREFUSED

    def test_leaves_other_kinds_of_sockets_alone(self, tmp_path):
        with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as later:
            listening.bind(str(tmp_path / "socket"))
            listening.listen()

            drop_new_connections(listening)

            later.connect(str(tmp_path / "socket"))


@linux_only
@pytest.mark.journey
@pytest.mark.long
def test_stop_under_new_connections_resets_none(monkeypatch):
    """The close is delayed, as it is by threads that have the interpreter."""
    monkeypatch.setenv("SLOW_CLOSE", "0.2")
    outcomes = Counter()
    with server("--workers", "2") as (port, process):
        over = threading.Event()
        clients = [
            threading.Thread(target=connect_until, args=(over, port, outcomes)) for _ in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
        over.set()
        for client in clients:
            client.join()

    assert set(outcomes) == {"answered", "refused"}


@linux_only
@pytest.mark.journey
def test_stop_without_the_filter_serves_what_it_has_accepted(monkeypatch):
    """Some kernels allow the filter only to a process with CAP_NET_ADMIN, which a container doesn't have."""
    monkeypatch.setenv("NO_FILTERS", "1")
    with server() as (port, process), connect(port) as connection:
        assert call(port) == ("200", "5")  # it has started
        connection.sendall(TURN)
        time.sleep(THREAD_BUSY / 2)
        process.send_signal(signal.SIGTERM)

        status, _ = read_answer(connection)
        assert (status, process.wait(timeout=20)) == ("200", 0)


def connect_until(over, port, outcomes):
    """Send requests with a new connection each, as a proxy without kept connections does."""
    while not over.is_set():
        outcomes[outcome_of(port)] += 1
        time.sleep(PAUSE)


def outcome_of(port):
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=CLIENT_TIMEOUT)
    except ConnectionRefusedError:
        return "refused"
    with connection:
        try:
            connection.sendall(request(b"hello"))
            return "answered" if read_answer(connection) == ("200", "5") else "wrong"
        except OSError as error:
            return type(error).__name__
