"""Connections that are opened at once, and kept, are shared between the web workers."""

from collections import Counter
from contextlib import ExitStack

import pytest

from tests.config.runtime.test_request_buffering import call, connect, read_answer, server
from tests.faults.processes import wait_until

pytestmark = [pytest.mark.journey, pytest.mark.long]

TURN = b"GET /process HTTP/1.1\r\nHost: test\r\n\r\n"


def opened(exits, port, count):
    """Return connections that were opened one after the other, each with a request that keeps a thread busy."""
    connections = []
    for _ in range(count):
        connection = exits.enter_context(connect(port))
        connection.sendall(TURN)
        connections.append(connection)
    return connections


def processes(connections):
    """Return how many of these connections each process answered."""
    return Counter(read_answer(connection)[1] for connection in connections)


def has_answer_of_both(port):
    with ExitStack() as exits:
        return len(processes(opened(exits, port, 8))) == 2


@pytest.fixture(scope="module")
def port():
    with server("--workers", "2") as (port, _):
        wait_until(lambda: has_answer_of_both(port), what="both workers")  # the second one starts later
        yield port


def test_busy_worker_leaves_connections_to_the_other_one(port):
    with ExitStack() as exits:
        connections = opened(exits, port, 8)

        first = processes(connections)
        for connection in connections:  # they stay with the worker that accepted them
            connection.sendall(TURN)
        second = processes(connections)

    assert len(first) == 2
    assert min(first.values()) >= 2  # as many as each has threads
    assert second == first


def test_new_connections_are_accepted_while_all_workers_are_busy(port):
    with ExitStack() as exits:
        kept = opened(exits, port, 12)
        assert call(port) == ("200", "5")  # within the time of a client
        assert processes(kept).total() == 12


def test_single_worker_accepts_all():
    with server() as (port, _), ExitStack() as exits:
        assert len(processes(opened(exits, port, 6))) == 1
