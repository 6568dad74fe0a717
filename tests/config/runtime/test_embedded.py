"""The sandbox's web server serves others while slow clients send and read."""

import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from config.runtime.embedded import WEB_THREADS
from tests import orders
from tests.journeys.service import start_service

pytestmark = [pytest.mark.journey, pytest.mark.long]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    with start_service(tmp_path_factory.mktemp("sandbox"), DATABASE_URL="", REDIS_URL="") as service:
        yield service


def connect(sandbox):
    host = urlsplit(sandbox.base_url)
    return socket.create_connection((host.hostname, host.port), timeout=10)


class TestSlowClients:
    def test_that_send_half_a_request_do_not_delay_others(self, sandbox):
        half = b"POST /api/payments HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
        with ExitStack() as connections:
            for part in (half, half[:20]) * WEB_THREADS:
                connections.enter_context(connect(sandbox)).sendall(part)

            assert sandbox.client.post("/api/payments", orders.card_payment()).status_code == 201

    def test_that_read_nothing_do_not_delay_others(self, sandbox):
        document = b"GET /api/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        with ExitStack() as connections:
            for _ in range(2 * WEB_THREADS):
                connections.enter_context(connect(sandbox)).sendall(document)

            assert sandbox.client.post("/api/payments", orders.card_payment()).status_code == 201
