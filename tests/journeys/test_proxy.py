"""The proxy configuration that we provide, docs/operations/nginx.conf, in front of a running service."""

import json
import re
import socket
import ssl
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

import pytest
import requests

from config.errors.error_codes import ERROR_CODES
from config.errors.problems import BadRequest
from tests import orders
from tests.clients import signed_headers
from tests.journeys.nginx import Proxy, needs_nginx, nginx
from tests.journeys.service import Service, start_service

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("proxy"), needs_nginx]


@dataclass
class ProxiedService:
    """A service and its proxy, with a signing client."""

    proxy: Proxy
    service: Service

    def call(self, method, target, body=b"", **headers):
        """Make a signed call. The target is sent unchanged, because HTTP libraries would normalise it."""
        signed = signed_headers(self.service.credentials, method, target, body)
        if body:
            signed["Content-Type"] = "application/json"
        context = ssl.create_default_context(cafile=self.proxy.certificate)
        with closing(HTTPSConnection("127.0.0.1", self.proxy.tls, timeout=30, context=context)) as connection:
            connection.request(method, target, body, signed | headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())


@dataclass
class Answer:
    status: int
    headers: object
    body: bytes


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    with (
        start_service(folder, PROXIES_IN_FRONT="1") as service,
        nginx(tmp_path_factory.mktemp("nginx"), upstream=urlsplit(service.base_url).netloc) as proxy,
    ):
        yield ProxiedService(proxy, service)


class TestProxy:
    def test_redirects_http_to_https(self, proxied):
        answer = requests.get(
            f"http://127.0.0.1:{proxied.proxy.plain}/dashboard/?a=b", allow_redirects=False, timeout=10
        )

        assert answer.status_code == 308
        assert answer.headers["Location"] == "https://127.0.0.1/dashboard/?a=b"

    def test_speaks_http_2(self, proxied):
        context = ssl.create_default_context(cafile=proxied.proxy.certificate)
        context.set_alpn_protocols(["h2"])

        with (
            socket.create_connection(("127.0.0.1", proxied.proxy.tls)) as raw,
            context.wrap_socket(raw, server_hostname="localhost") as connection,
        ):
            assert connection.selected_alpn_protocol() == "h2"

    def test_forwards_a_signed_payment(self, proxied):
        order = orders.card_payment()

        created = proxied.call("POST", "/api/payments", json.dumps(order).encode())
        found = proxied.call("GET", f"/api/payments/{order['reference']}")

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
    def test_forwards_the_target_as_signed(self, proxied, target):
        assert proxied.call("GET", target).status in {400, 404}  # and not 401

    def test_keeps_the_port_in_urls(self, proxied):
        for _ in range(2):
            proxied.call("POST", "/api/payments", json.dumps(orders.card_payment()).encode())

        page = json.loads(proxied.call("GET", "/api/payments?limit=1").body)

        assert urlsplit(page["next"]).netloc == f"127.0.0.1:{proxied.proxy.tls}"

    def test_forwards_oversized_bodies_to_the_service(self, proxied):
        answer = proxied.call("POST", "/api/payments", b" " * 70_000)

        assert answer.status == 413
        assert answer.headers["Content-Type"] == "application/problem+json"

    def test_hides_metrics(self, proxied):
        assert requests.get(f"{proxied.service.base_url}/metrics", timeout=10).status_code == 200
        assert proxied.call("GET", "/metrics").status == 404

    def test_forwards_the_real_client_address_and_not_the_claimed_one(self, proxied):
        proxied.call("GET", "/api/payments/whose", **{"X-Forwarded-For": "203.0.113.9"})

        assert wait_for_callers(proxied.service, "/api/payments/whose") == ["127.0.0.1"]


class TestSlowClients:
    def test_do_not_delay_others(self, proxied):
        body = json.dumps(orders.card_payment()).encode()
        context = ssl.create_default_context(cafile=proxied.proxy.certificate)
        with ExitStack() as connections:
            for _ in range(20):  # more than the service has threads
                raw = connections.enter_context(socket.create_connection(("127.0.0.1", proxied.proxy.tls)))
                slow = connections.enter_context(context.wrap_socket(raw, server_hostname="localhost"))
                slow.sendall(
                    b"POST /api/payments HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
                )
                slow.sendall(body[:10])

            assert proxied.call("POST", "/api/payments", body).status == 201


class TestRefusals:
    """Requests that nginx rejects before they reach the service."""

    REQUESTS = {
        "unreadable host": (b"GET /api/payments HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "invalid_request"),
        "no host": (b"GET /api/payments HTTP/1.1\r\n\r\n", 400, "invalid_request"),
        "two lengths": (
            b"POST /api/payments HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            400,
            "invalid_request",
        ),
        "unknown encoding": (
            b"POST /api/payments HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
            400,
            "invalid_request",
        ),
        "unknown version": (b"GET /api/payments HTTP/3.0\r\nHost: x\r\n\r\n", 400, "invalid_request"),
        "trace": (b"TRACE /api/payments HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method_not_allowed"),
        "large body": (
            b"POST /bank/transfers HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n",
            413,
            "body_too_large",
        ),
        "long target": (
            b"GET /api/payments?%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 9000),
            414,
            "uri_too_long",
        ),
        "long header": (
            b"GET /api/payments HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n" % (b"a" * 9000),
            431,
            "headers_too_large",
        ),
        "many headers": (
            b"GET /api/payments HTTP/1.1\r\nHost: x\r\n%s\r\n" % (b"X: %s\r\n" % (b"a" * 6000) * 8),
            431,
            "headers_too_large",
        ),
    }

    @pytest.mark.parametrize("kind", REQUESTS)
    def test_are_problems_under_api_paths(self, proxied, kind):
        request, status, code = self.REQUESTS[kind]

        answer = raw(proxied.proxy, request)

        assert answer.status == status
        assert_is_problem(answer, code)

    @pytest.mark.parametrize("kind", REQUESTS)
    def test_are_pages_under_other_paths(self, proxied, kind):
        request, status, _ = self.REQUESTS[kind]
        request = re.sub(rb"/(api/payments|bank/transfers)", b"/dashboard/login", request)

        answer = raw(proxied.proxy, request)

        assert answer.status == status
        assert answer.headers["Content-Type"] == "text/html"
        assert b"<h1>%d</h1>" % status in answer.body

    def test_of_plain_http_is_a_problem_too(self, proxied):
        with socket.create_connection(("127.0.0.1", proxied.proxy.tls)) as connection:
            connection.sendall(b"GET /api/payments HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = read(connection)

        assert_is_problem(answer, "invalid_request")

    def test_contain_no_request_data(self, proxied):
        number = b"4084084084084081"
        for request in (
            b"GET /api/payments/%s HTTP/1.1\r\nHost: a b\r\n\r\n" % number,
            b'GET /api/payments HTTP/1.1\r\nHost: %s"\r\nHost: x\r\n\r\n' % number,
            b"GET /api/payments?%s HTTP/1.1\r\nHost: x\r\n\r\n" % (number * 600),
        ):
            answer = raw(proxied.proxy, request)

            assert_is_problem(answer, json.loads(answer.body)["code"])
            assert number not in answer.body + str(answer.headers).encode()

    def test_of_an_unavailable_service_have_retry_after(self, tmp_path):
        with nginx(tmp_path, upstream="127.0.0.1:9") as proxy:
            problem, page = (
                raw(proxy, b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path)
                for path in (b"/api/payments", b"/dashboard/")
            )

        assert (problem.status, problem.headers["Retry-After"]) == (503, "5")
        assert_is_problem(problem, "temporarily_unavailable")
        assert (page.status, page.headers["Content-Type"]) == (503, "text/html")

    def test_of_a_dropped_connection_are_problems(self, tmp_path):
        with listening(b"") as upstream, nginx(tmp_path, upstream=upstream) as proxy:
            answer = raw(proxy, b"GET /api/payments HTTP/1.1\r\nHost: x\r\n\r\n")

        assert answer.status == 503
        assert_is_problem(answer, "temporarily_unavailable")

    @pytest.mark.parametrize("status", [400, 413, 500, 502, 503, 504])
    def test_of_the_service_itself_are_unchanged(self, tmp_path, status):
        body = b'{"code": "of the service"}'
        sent = (
            b"HTTP/1.1 %d Said\r\nContent-Type: application/problem+json\r\nX-Request-Id: its-own\r\n"
            % status
        )
        sent += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        with listening(sent) as upstream, nginx(tmp_path, upstream=upstream) as proxy:
            answer = raw(proxy, b"GET /api/payments HTTP/1.1\r\nHost: x\r\n\r\n")

        assert (answer.status, answer.body, answer.headers["X-Request-Id"]) == (status, body, "its-own")

    def test_are_not_served_at_a_public_path(self, proxied):
        assert proxied.call("GET", "/.refused/problem").status == 404


def assert_is_problem(answer, code):
    problem = json.loads(answer.body)
    kind = ERROR_CODES[code]
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert problem == {
        "type": f"/docs/errors/{code}",
        "title": kind.title,
        "status": answer.status,
        "detail": BadRequest.default_detail if code == "invalid_request" else kind.help,
        "code": code,
        "request_id": answer.headers["X-Request-Id"],
    }
    assert kind.status == answer.status


def raw(proxy, request):
    """Send bytes over TLS, and read one response."""
    context = ssl.create_default_context(cafile=proxy.certificate)
    with (
        socket.create_connection(("127.0.0.1", proxy.tls), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        connection.sendall(request)
        return read(connection)


def read(connection):
    answer = HTTPResponse(connection)
    answer.begin()
    return Answer(answer.status, answer.headers, answer.read())


@contextmanager
def listening(answer):
    """Send the same response to every connection."""

    def answer_all():
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_all, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=5)


def wait_for_callers(service, target):
    """Return the client addresses of requests for the target. The request log is written with a delay of
    a second.
    """
    ask = f"""
from merchants.models import ApiRequest
print(*ApiRequest.objects.filter(target="{target}").values_list("address", flat=True))
"""
    for _ in range(20):
        if found := service.command("shell", "--no-imports", "-c", ask).stdout.split():
            return found
        time.sleep(0.2)
    return []
