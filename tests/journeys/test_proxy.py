"""The proxy that operators are given, docs/operations/nginx.conf, in front of a running service."""

import json
import socket
import ssl
import time
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPSConnection
from urllib.parse import urlsplit

import pytest
import requests

from tests import orders
from tests.clients import signed_headers
from tests.journeys.nginx import Front, needs_nginx, nginx
from tests.journeys.service import Service, start_service

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("proxy"), needs_nginx]


@dataclass
class World:
    """Who calls a service through its proxy."""

    front: Front
    service: Service

    def call(self, method, target, body=b"", **headers):
        """Make a signed call; the target is sent as it is, where a library would tidy it up."""
        signed = signed_headers(self.service.credentials, method, target, body)
        if body:
            signed["Content-Type"] = "application/json"
        context = ssl.create_default_context(cafile=self.front.certificate)
        with closing(HTTPSConnection("127.0.0.1", self.front.tls, timeout=30, context=context)) as connection:
            connection.request(method, target, body, signed | headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())


@dataclass
class Answer:
    status: int
    headers: object
    body: bytes


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    with (
        start_service(folder, PROXIES_IN_FRONT="1") as service,
        nginx(tmp_path_factory.mktemp("nginx"), upstream=urlsplit(service.base_url).netloc) as front,
    ):
        yield World(front, service)


class TestProxy:
    def test_sends_plain_http_to_tls(self, world):
        answer = requests.get(
            f"http://127.0.0.1:{world.front.plain}/dashboard/?a=b", allow_redirects=False, timeout=10
        )

        assert answer.status_code == 308
        assert answer.headers["Location"] == "https://127.0.0.1/dashboard/?a=b"

    def test_speaks_http_2(self, world):
        context = ssl.create_default_context(cafile=world.front.certificate)
        context.set_alpn_protocols(["h2"])

        with (
            socket.create_connection(("127.0.0.1", world.front.tls)) as raw,
            context.wrap_socket(raw, server_hostname="localhost") as connection,
        ):
            assert connection.selected_alpn_protocol() == "h2"

    def test_lets_a_signed_payment_through(self, world):
        order = orders.card_payment()

        created = world.call("POST", "/api/payments", json.dumps(order).encode())
        found = world.call("GET", f"/api/payments/{order['reference']}")

        assert created.status == 201
        assert json.loads(found.body) == json.loads(created.body)

    @pytest.mark.parametrize(
        "target",
        [
            "/api/payments/a%2Db",
            "/api/payments/a%2db",
            "/api/payments/%41?b=%2F&c=%20&d=+&b=",
            "/api/payments/a-b?",
            "/api/payments/../payments/a-b",
        ],
    )
    def test_leaves_the_target_as_it_was_signed(self, world, target):
        assert world.call("GET", target).status in {400, 404}  # and not 401

    def test_leaves_the_port_in_the_addresses_of_pages(self, world):
        for _ in range(2):
            world.call("POST", "/api/payments", json.dumps(orders.card_payment()).encode())

        page = json.loads(world.call("GET", "/api/payments?limit=1").body)

        assert urlsplit(page["next"]).netloc == f"127.0.0.1:{world.front.tls}"

    def test_leaves_what_is_too_large_to_the_service(self, world):
        answer = world.call("POST", "/api/payments", b" " * 70_000)

        assert answer.status == 413
        assert answer.headers["Content-Type"] == "application/problem+json"

    def test_shows_metrics_to_nobody(self, world):
        assert requests.get(f"{world.service.base_url}/metrics", timeout=10).status_code == 200
        assert world.call("GET", "/metrics").status == 404

    def test_tells_whom_it_saw_and_not_whom_a_caller_claims_to_be(self, world):
        world.call("GET", "/api/payments/whose", **{"X-Forwarded-For": "203.0.113.9"})

        assert wait_for_callers(world.service, "/api/payments/whose") == ["127.0.0.1"]


def wait_for_callers(service, target):
    """Return from where the target was asked for; what was asked is written down a second later."""
    ask = f"""
from merchants.models import ApiRequest
print(*ApiRequest.objects.filter(target="{target}").values_list("address", flat=True))
"""
    for _ in range(20):
        if found := service.command("shell", "--no-imports", "-c", ask).stdout.split():
            return found
        time.sleep(0.2)
    return []
