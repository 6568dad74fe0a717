"""Errors of the API are RFC 9457 problem details in every case."""

import http.client
import io
import json
import re
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from urllib.parse import urlsplit

import pytest
import structlog
from django.db import IntegrityError, OperationalError
from freezegun import freeze_time
from redis.exceptions import ConnectionError as RedisAway

from config.errors.error_codes import ERROR_CODES
from config.errors.problems import answer_exception
from config.wsgi import application, readable
from developer_site.openapi.answer_schemas import NAMING_WHAT_EXISTS, PROBLEM
from merchants.api import rate_limits
from merchants.api.key_cache import KeyCache
from merchants.models import ApiKey, Nonce
from payments.models import Transaction
from tests import orders
from tests.clients import signed_headers

PAYMENTS = "/api/payments"
MEMBERS = {"type", "title", "status", "detail", "code", "request_id"}


def problem(answer, status, code, *, extra=()):
    """Return the body of a problem after checking its format."""
    body = answer.json()
    assert (answer.status_code, body["code"]) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert set(body) == MEMBERS | set(extra)
    assert set(body) <= {
        field.name for answer in (PROBLEM, *NAMING_WHAT_EXISTS.values()) for field in answer.fields
    }
    assert body["type"].endswith(f"/docs/errors/{code}")
    assert body["status"] == status
    assert body["title"] == ERROR_CODES[code].title
    assert body["request_id"] == answer.headers["X-Request-Id"]
    return body


@pytest.mark.django_db
class TestProblem:
    def test_400_lists_every_wrong_field(self, api):
        answer = api.post(PAYMENTS, orders.payout(amount=0, currency="naira", customer=...))

        body = problem(answer, 400, "invalid_request", extra=["errors"])
        assert {error["field"] for error in body["errors"]} == {"amount", "currency", "customer"}
        assert all(set(error) == {"field", "code", "message"} for error in body["errors"])

    def test_400_uses_the_code_that_all_errors_share(self, api):
        answer = api.post(PAYMENTS, orders.payout(colour="red", flavour="sour"))

        body = problem(answer, 400, "unknown_field", extra=["errors"])
        assert [error["field"] for error in body["errors"]] == ["colour", "flavour"]

    def test_400_of_a_body_that_is_not_json(self, api):
        problem(api.post(PAYMENTS, b"{"), 400, "malformed_json")

    def test_401(self, client):
        answer = client.get(PAYMENTS)

        problem(answer, 401, "missing_header")
        assert answer.headers["WWW-Authenticate"]

    def test_404_of_a_reference(self, api):
        problem(api.get(f"{PAYMENTS}/nobodys"), 404, "not_found")

    def test_404_of_a_path_comes_after_401(self, subtests, client, api):
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"]:
            for target in ["/api/", "/api/nothing", "/api/payments/", "/api/payments/a/b/c"]:
                with subtests.test(method=method, target=target):
                    problem(client.generic(method, target), 401, "missing_header")
                    problem(api.send(method, target), 404, "not_found")

    @pytest.mark.parametrize(
        ("target", "close"),
        [
            ("/api/payment", "/api/payments"),
            ("/api/virtual_accounts", "/api/virtual-accounts"),
            ("/api/payments/order-1/refund", "/api/payments/{reference}/refunds"),
            ("/api/payments/order-1/refunds/", "/api/payments/{reference}/refunds"),
            ("/api/payment/order-1", "/api/payments/{reference}"),
            ("/api/virtual_accounts/a/deactivat", "/api/virtual-accounts/{reference}/deactivate"),
            ("/api/event/5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11/resend", "/api/events/{event_id}/resend"),
            ("/api/payments/order-1/refunds/capture", ""),
            ("/api/payments/order-1/rfnds%0Adid", ""),
            ("/api/x", ""),
        ],
    )
    def test_404_of_a_path_suggests_the_closest_one(self, api, target, close):
        body = problem(api.get(target), 404, "not_found")

        assert body["detail"] == (
            f"There is no such path; did you mean {close}?" if close else "There is no such path."
        )

    def test_404_outside_the_api_is_a_problem_for_programs(self, subtests, client):
        for target, close in [
            ("/payments", "/api/payments"),
            ("/v1/payments", "/api/payments"),
            ("/v1/payments/order-1/refund", "/api/payments/{reference}/refunds"),
            ("/nothing", ""),
        ]:
            for headers in [
                {"X-Api-Key": "pk_1"},
                {"Content-Type": "application/json"},
                {"Accept": "application/json"},
            ]:
                with subtests.test(target=target, close=close, headers=headers):
                    body = problem(client.get(target, headers=headers), 404, "not_found")

                    assert body["detail"] == (
                        f"There is no such path; did you mean {close}?" if close else "There is no such path."
                    )

    def test_404_outside_the_api_is_a_page_for_browsers(self, client):
        answer = client.get("/v1/payments", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})

        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")

    @pytest.mark.parametrize(("target", "close"), [("/api/v1/payments", "/api/payments")])
    def test_404_of_a_path_of_a_version_suggests_the_path(self, api, target, close):
        assert close in problem(api.get(target), 404, "not_found")["detail"]

    def test_401_of_a_bearer_token_points_to_signing(self, client):
        answer = client.get(PAYMENTS, headers={"Authorization": "Bearer sk_live_1"})

        detail = problem(answer, 401, "missing_header")["detail"]
        assert "/docs/signing" in detail
        assert "sk_live_1" not in detail

    def test_401_names_the_environment_of_a_key(self, api):
        answer = api.get("/api/banks", **{"X-Api-Key": "pk_live_" + "a" * 16})

        assert "pk_sandbox_" in problem(answer, 401, "unknown_key")["detail"]

    def test_404_of_a_path_is_not_403_for_a_read_only_key(self, api, ada):
        ada.access = ApiKey.Access.READ_ONLY
        ada.save()

        problem(api.post("/api/nothing", {}), 404, "not_found")

    @pytest.mark.parametrize("target", [f"{PAYMENTS}/%00", f"{PAYMENTS}/a%00b/refunds", "/api/%00"])
    def test_404_of_a_url_with_a_nul_comes_after_401(self, client, api, target):
        problem(client.get(target), 401, "missing_header")
        problem(api.get(target), 404, "not_found")

    def test_404_of_a_page_with_a_nul(self, client):
        assert client.get("/3ds/%00").status_code == 404

    def test_405_lists_the_allowed_methods(self, subtests, api):
        for method in ["PUT", "PATCH", "DELETE", "TRACE", "BREW"]:
            for target, allowed in [
                (PAYMENTS, {"GET", "POST", "HEAD", "OPTIONS"}),
                (f"{PAYMENTS}/x", {"GET", "HEAD", "OPTIONS"}),
                (f"{PAYMENTS}/x/void", {"POST", "OPTIONS"}),
                ("/api/banks", {"GET", "HEAD", "OPTIONS"}),
            ]:
                with subtests.test(method=method, target=target, allowed=allowed):
                    answer = api.send(method, target)

                    problem(answer, 405, "method_not_allowed")
                    assert set(answer.headers["Allow"].split(", ")) == allowed

    @pytest.mark.parametrize("wanted", ["text/html", "application/xml", "image/*", "nonsense"])
    def test_406(self, api, wanted):
        problem(api.get("/api/banks", Accept=wanted), 406, "not_acceptable")

    @pytest.mark.parametrize(
        "wanted", ["*/*", "application/json", "application/*", "application/json;q=0.5, text/html"]
    )
    def test_accepts_json_media_types(self, api, wanted):
        answer = api.get("/api/banks", Accept=wanted)

        assert answer.status_code == 200
        assert answer.headers["Content-Type"].split(";")[0] == "application/json"

    def test_409_includes_id_and_status_of_the_first(self, api):
        order = orders.payout()
        first = api.post(PAYMENTS, order).json()

        answer = api.post(PAYMENTS, order | {"amount": 1})

        body = problem(answer, 409, "duplicate_reference", extra=["existing", "differs"])
        assert body["existing"] == {"id": first["id"], "status": "success"}

    def test_409_of_a_state(self, api):
        order = orders.card_payment()
        api.post(PAYMENTS, order)

        problem(api.post(f"{PAYMENTS}/{order['reference']}/void"), 409, "invalid_state")

    def test_415(self, subtests, api):
        for content_type in [
            "", "text/plain", "text/json", "application/xml", "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x", "application/json5", "nonsense",
        ]:  # fmt: skip
            with subtests.test(content_type=content_type):
                body = json.dumps(orders.payout()).encode()

                answer = api.send("POST", PAYMENTS, body, content_type=content_type)

                problem(answer, 415, "unsupported_media_type")

    @pytest.mark.parametrize(
        "content_type", ["application/json", "Application/JSON", "application/json; charset=utf-8"]
    )
    def test_accepts_a_json_body(self, api, content_type):
        body = json.dumps(orders.payout()).encode()

        assert api.send("POST", PAYMENTS, body, content_type=content_type).status_code == 201

    def test_415_of_an_encoded_body(self, subtests, api):
        for encoding in ["gzip", "GZIP", "br", "deflate", "x", "identity, gzip", "gzip,identity"]:
            for target in [PAYMENTS, "/bank/transfers"]:
                with subtests.test(encoding=encoding, target=target):
                    answer = api.post(target, orders.payout(), **{"Content-Encoding": encoding})

                    body = problem(answer, 415, "unsupported_media_type")
                    assert "Content-Encoding" in body["detail"]
                    assert answer.headers["Accept-Encoding"] == "identity"
                    assert not Transaction.objects.exists()

    @pytest.mark.parametrize("encoding", ["identity", "Identity", " identity ", ""])
    def test_accepts_an_unencoded_body(self, api, encoding):
        answer = api.post(PAYMENTS, orders.payout(), **{"Content-Encoding": encoding})

        assert answer.status_code == 201

    @pytest.mark.parametrize("missing", [1, 1000])
    def test_400_of_a_body_shorter_than_its_length(self, api, missing):
        body = json.dumps(orders.payout()).encode()
        signed = signed_headers(api.credentials, "POST", PAYMENTS, body)

        answer = api.django.generic(
            "POST",
            PAYMENTS,
            content_type="application/json",
            headers=signed,
            **{"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body) + missing)},
        )

        assert "Content-Length" in problem(answer, 400, "invalid_request")["detail"]
        assert not Transaction.objects.exists()
        assert not Nonce.objects.exists()

    def test_400_of_a_form_shorter_than_its_length(self, client):
        form = b"email=ada%40shop.example&password=secret"

        answer = client.generic(
            "POST",
            "/dashboard/login/",
            content_type="application/x-www-form-urlencoded",
            **{"wsgi.input": io.BytesIO(form), "CONTENT_LENGTH": str(len(form) + 5)},
        )

        assert answer.status_code == 400

    def test_400_of_a_thousand_parameters(self, api):
        problem(api.get(f"{PAYMENTS}?" + "a&" * 1001), 400, "invalid_request")

    @pytest.mark.parametrize("host", ["a b", "a_b!", "[::1", ""])
    def test_400_of_an_invalid_host(self, api, host):
        problem(api.get(PAYMENTS, Host=host), 400, "invalid_request")

    @pytest.mark.parametrize(
        "target", [PAYMENTS, "/api/banks", "/api/docs", "/api/openapi.json", "/api/nothing"]
    )
    def test_400_of_an_unknown_host(self, api, settings, target):
        settings.ALLOWED_HOSTS = ["pay.shop.example"]

        problem(api.get(target, Host="evil.example"), 400, "invalid_request")
        assert api.get(target, Host="pay.shop.example").status_code in {200, 404}

    @pytest.mark.parametrize(
        "target", ["/", "/docs/", "/dashboard/login/", "/admin/", "/metrics", "/static/x", "/3ds/x"]
    )
    def test_400_of_a_page_at_an_unknown_host(self, client, settings, target):
        settings.ALLOWED_HOSTS = ["pay.shop.example"]

        assert client.get(target, headers={"Host": "evil.example"}).status_code == 400

    @pytest.mark.parametrize("target", ["/livez", "/readyz"])
    @pytest.mark.parametrize("host", ["10.0.0.7:8000", "a b"])
    def test_accepts_any_host_for_probes(self, client, settings, target, host):
        settings.ALLOWED_HOSTS = ["pay.shop.example"]

        assert client.get(target, headers={"Host": host}).status_code == 200

    def test_type_is_the_url_of_a_page_that_explains_it(self, subtests, client):
        for code in sorted(ERROR_CODES):
            with subtests.test(code=code):
                answer = client.get(f"/docs/errors/{code}")

                assert answer.status_code == 200
                assert code in answer.content.decode()


@pytest.mark.django_db
class TestBodySize:
    LIMIT = 64 * 1024

    def padded(self, size):
        order = orders.payout(narration="")
        order["narration"] = "x" * (size - len(json.dumps(order)))
        return json.dumps(order).encode()

    def test_of_64_kib_is_accepted(self, api):
        body = self.padded(self.LIMIT)

        answer = api.post(PAYMENTS, body)

        assert len(body) == self.LIMIT
        errors = problem(answer, 400, "invalid_request", extra=["errors"])["errors"]
        assert [error["field"] for error in errors] == ["narration"]

    def test_above_64_kib_is_413(self, api):
        problem(api.post(PAYMENTS, self.padded(self.LIMIT + 1)), 413, "body_too_large")
        assert not Nonce.objects.exists()

    def test_is_checked_before_the_signature(self, client):
        answer = client.generic("POST", PAYMENTS, b"x" * (self.LIMIT + 1))

        problem(answer, 413, "body_too_large")


@pytest.mark.django_db
class TestRateLimit:
    @pytest.fixture(autouse=True)
    def _few_calls_in_one_second(self, settings):
        settings.RATE_LIMIT_READS, settings.RATE_LIMIT_WRITES = 3, 2
        with freeze_time("2026-06-01T08:00:00.250Z"):
            yield

    def test_returns_the_remaining_calls(self, api):
        answers = [api.get("/api/banks") for _ in range(3)]

        assert [answer.status_code for answer in answers] == [200, 200, 200]
        assert [answer.headers["RateLimit"] for answer in answers] == [
            f'"reads";r={left};t=1' for left in (2, 1, 0)
        ]
        assert answers[0].headers["RateLimit-Policy"] == '"reads";q=3;w=1'

    def test_returns_429_above_the_limit(self, api):
        answers = [api.post(PAYMENTS, orders.payout()) for _ in range(3)]

        assert [answer.status_code for answer in answers] == [201, 201, 429]
        problem(answers[-1], 429, "rate_limited")
        assert answers[-1].headers["Retry-After"] == "1"
        assert answers[-1].headers["RateLimit"] == '"writes";r=0;t=1'
        assert answers[-1].headers["RateLimit-Policy"] == '"writes";q=2;w=1'
        assert Transaction.objects.count() == 2

    def test_is_counted_separately_for_reads_and_writes_and_each_key(self, api, other_api):
        writes = [api.post(PAYMENTS, orders.payout()) for _ in range(3)]

        assert writes[-1].status_code == 429
        assert api.get("/api/banks").status_code == 200
        assert other_api.post(PAYMENTS, orders.payout()).status_code == 201

    @pytest.mark.parametrize("target", ["/api/sandbox/advance", "/api/sandbox/unknown"])
    def test_of_the_sandbox_is_20_calls_for_reads_and_writes_together(self, api, target):
        answers = [api.send(method, target) for method in ["POST", "GET"] * 10 + ["POST"]]

        assert 429 not in [answer.status_code for answer in answers[:20]]
        problem(answers[20], 429, "rate_limited")
        assert answers[0].headers["RateLimit-Policy"] == '"sandbox";q=20;w=1'
        assert [answers[number].headers["RateLimit"] for number in (0, 19)] == [
            '"sandbox";r=19;t=1',
            '"sandbox";r=0;t=1',
        ]
        assert api.get("/api/banks").status_code == 200

    def test_restarts_with_the_next_second(self, api):
        for _ in range(4):
            last = api.get("/api/banks")

        with freeze_time("2026-06-01T08:00:01Z"):
            next_second = api.get("/api/banks")

        assert (last.status_code, next_second.status_code) == (429, 200)

    def test_is_not_enforced_while_the_cache_is_unavailable(self, api, monkeypatch):
        def unavailable(key):
            raise RedisAway(f"Connection refused while counting {key}")

        monkeypatch.setattr(rate_limits.cache, "incr", unavailable)

        assert api.get("/api/banks").status_code == 200


class TestRateLimitCounter:
    def test_counts_parallel_calls_exactly(self):
        with ThreadPoolExecutor(max_workers=16) as pool:
            counts = list(pool.map(lambda _: rate_limits._count("rate:test"), range(400)))

        assert sorted(counts) == list(range(1, 401))


def here():
    """Return a traceback that leads to this file."""
    frame = sys._getframe()
    return TracebackType(None, frame, frame.f_lasti, frame.f_lineno)


@pytest.mark.django_db
class TestSurprise:
    @pytest.fixture
    def captured(self):
        with structlog.testing.capture_logs() as logs:
            yield logs

    def test_is_500_without_details(self, api, settings):
        settings.CARD_ACQUIRER = "tests.rails.CardLeakingAcquirer"

        answer = api.post(PAYMENTS, orders.card_payment())

        problem(answer, 500, "internal_error")
        random = answer.json()["request_id"]  # which may contain any digits
        shown = answer.content.decode().replace(random, "").replace(orders.GOOD_CARD, "408")
        assert not re.search(r"RuntimeError|route|rails|408|Traceback", shown)

    def test_is_logged_with_its_location_and_without_card_numbers(self, captured):
        surprise = RuntimeError(f"No route for pan={orders.GOOD_CARD} cvv=8263").with_traceback(here())

        answer_exception(surprise, {"request": None})

        [line] = [line for line in captured if line["event"] == "request failed"]
        assert line["said"] == "No route for pan=… cvv=…"
        assert "test_problems.py" in line["where"]

    def test_of_the_database_is_logged_without_its_message(self, captured):
        answer_exception(IntegrityError("Failing row contains (4084084084084081)"), {"request": None})

        [line] = [line for line in captured if line["event"] == "request failed"]
        assert (line["error"], line["said"]) == ("IntegrityError", "")

    def test_leaves_a_payment_for_requery(self, api, settings):
        settings.CARD_ACQUIRER = "tests.rails.CardLeakingAcquirer"

        api.post(PAYMENTS, orders.card_payment())

        payment = Transaction.objects.get()
        assert (payment.status, payment.awaiting) == ("pending", "rail")


@pytest.mark.django_db
class TestUnavailable:
    @pytest.mark.parametrize(
        ("setting", "order"),
        [
            ("CARD_ACQUIRER", orders.card_payment()),
            ("CARD_ACQUIRER", orders.card_check()),
            ("PAYOUT_BANK", orders.payout()),
        ],
    )
    def test_rail_is_503_and_stores_nothing(self, api, settings, setting, order):
        setattr(settings, setting, "")

        answer = api.post(PAYMENTS, order)

        problem(answer, 503, "rail_unavailable")
        assert int(answer.headers["Retry-After"]) > 0
        assert not Transaction.objects.exists()

    def test_database_is_503_with_retry_after(self, api, monkeypatch):
        def unavailable(*_, **__):
            raise OperationalError("connection to server at 10.0.0.7 failed")

        monkeypatch.setattr(KeyCache, "fetch", unavailable)
        monkeypatch.setattr(KeyCache, "get", unavailable)

        answer = api.get(PAYMENTS)

        problem(answer, 503, "temporarily_unavailable")
        assert answer.headers["Retry-After"] == "5"
        assert "10.0.0.7" not in answer.content.decode()

    def test_database_during_a_payment_is_503(self, api, settings):
        settings.CARD_ACQUIRER = "tests.rails.AcquirerWithoutDatabase"

        answer = api.post(PAYMENTS, orders.card_payment())

        problem(answer, 503, "temporarily_unavailable")
        assert answer.headers["Retry-After"] == "5"


@pytest.mark.django_db
class TestRequestId:
    @pytest.mark.parametrize(
        "sane",
        [
            "a",
            "order-17.retry_2:b",
            "f" * 128,
            "123456789012",
            "0b8f6a54-7d39-4f1c-9b2e-6c1f0e5a7d21",
            "aa4084087248496984bbbbbbbbbbbbbb",  # a UUID of digits is not a card number
        ],
    )
    def test_is_kept_if_valid(self, api, sane):
        answer = api.get("/api/banks", **{"X-Request-Id": sane})

        assert answer.headers["X-Request-Id"] == sane

    def test_is_replaced_if_invalid(self, subtests, api):
        for strange in [
            "", " ", "two words", "f" * 129, "é", "<script>", "a,b", "a\nb", "a\x00b", "../..",
            "aaaaaaaaaaaa4084084084084081aaaa",  # no digit of a UUID's variant
            "4084084084084081", "4084-0840-8408-4081", "card-4084084084084081", "card4084084084084081",
        ]:  # fmt: skip
            with subtests.test(strange=strange):
                answer = api.get("/api/banks", **{"X-Request-Id": strange})

                assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-Id"])

    def test_is_in_every_response(self, client):
        targets = ["/", "/livez", "/api/docs", "/api/openapi.json", "/nothing", "/api/nothing", PAYMENTS]

        assert all(client.get(target).headers["X-Request-Id"] for target in targets)


@pytest.mark.django_db
class TestOtherMethods:
    TARGETS = (PAYMENTS, f"{PAYMENTS}/known", f"{PAYMENTS}/known/refunds", "/api/banks")

    @pytest.mark.parametrize("target", TARGETS)
    def test_head_returns_get_without_a_body(self, api, target):
        api.post(PAYMENTS, orders.card_payment(reference="known"))
        got = api.get(target)

        answer = api.send("HEAD", target)

        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["Content-Type"] == got.headers["Content-Type"]

    @pytest.mark.parametrize("target", TARGETS)
    def test_options_lists_the_allowed_methods_for_signed_requests(self, api, target):
        answer = api.send("OPTIONS", target)

        assert answer.status_code == 200
        assert answer.json() == {"methods": answer.headers["Allow"].split(", ")}

    def test_unsigned_are_never_server_errors(self, subtests, client):
        for method in ["HEAD", "OPTIONS", "GET", "POST", "PUT", "TRACE", "BREW"]:
            for target in [
                "/",
                "/livez",
                "/readyz",
                "/api/docs",
                "/api/openapi.json",
                "/api/x",
                PAYMENTS,
                "/3ds/x",
            ]:
                with subtests.test(method=method, target=target):
                    assert client.generic(method, target).status_code < 500


def raw_answer(service, head, body=b"", *, is_all=False, then_closed=False):
    """Send bytes unchanged, optionally ending the stream; return status, headers and body.

    With `then_closed`, the service must close the connection after its response.
    """
    connection = http.client.HTTPConnection(urlsplit(service.base_url).netloc, timeout=30)
    connection.connect()
    connection.sock.sendall(head.replace(b"\n", b"\r\n") + body)
    if is_all:
        connection.sock.shutdown(socket.SHUT_WR)
    answer = http.client.HTTPResponse(connection.sock)
    answer.begin()
    shown = answer.read()
    if then_closed:
        assert connection.sock.recv(1) == b""
    connection.close()
    return answer.status, answer.headers, shown


@pytest.mark.journey
@pytest.mark.xdist_group("journey")
class TestOverHttp:
    @pytest.mark.long
    def test_chunked_body_is_read_or_refused_with_411(self, service):
        """waitress and nginx pass it on with its length, gunicorn without."""
        head = b"POST /api/payments HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n"

        status, _, body = raw_answer(service, head, b"2\r\n{}\r\n0\r\n\r\n")

        assert (status, json.loads(body)["code"]) in {(411, "length_required"), (401, "missing_header")}

    @pytest.mark.parametrize(
        "length", [b"-1", b"+5", b"5, 5", b"5\nContent-Length: 6", b"0x5", b"five", b"9" * 5000]
    )
    def test_invalid_length_is_rejected(self, service, length):
        head = b"POST /api/payments HTTP/1.1\nHost: x\nContent-Length: " + length + b"\n\n"

        status, _, _ = raw_answer(service, head)

        assert 400 <= status < 500

    def test_excessive_length_is_413_before_a_byte_is_sent(self, service):
        head = b"POST /api/payments HTTP/1.1\nHost: x\nContent-Length: 4194305\n\n"

        status, headers, body = raw_answer(service, head)

        assert (status, json.loads(body)["code"]) == (413, "body_too_large")
        assert headers["X-Request-Id"]

    @pytest.mark.parametrize(
        ("content_type", "expected"),
        [
            ("application/json; a*=nonsense''%FF", 415),
            ("application/json; charset=rot13", 201),  # JSON is UTF-8, whatever the header says
            ("application/json; charset=utf-7", 201),
            ("application/json; charset=idna", 201),
            ("application/json;;;=;", 201),
            ("a/b; charset=undefined", 415),
        ],
    )
    def test_content_type_with_invalid_parameters_is_accepted(self, service, content_type, expected):
        body = json.dumps(orders.payout()).encode()

        answer = service.client.send("POST", PAYMENTS, body, headers={"Content-Type": content_type})

        assert answer.status_code == expected

    @pytest.mark.parametrize("charset", ["rot13", "idna", "undefined", "utf-16", "punycode"])
    def test_charset_does_not_change_how_a_url_is_decoded(self, service, charset):
        headers = {"Content-Type": f"application/json; charset={charset}"}

        answer = service.client.get(f"{PAYMENTS}?created_from=2026-01-01T00:00:00%2B01:00", **headers)

        assert answer.status_code == 200

    @pytest.mark.parametrize(("sent", "more"), [(0.5, 0), (1, 1)])
    def test_incomplete_body_is_never_processed(self, service, sent, more):
        order = orders.payout()
        body = json.dumps(order).encode()
        signed = signed_headers(service.credentials, "POST", PAYMENTS, body)
        lines = [f"{name}: {value}" for name, value in signed.items()]
        lines += ["Host: x", "Content-Type: application/json", f"Content-Length: {len(body) + more}"]
        head = "POST /api/payments HTTP/1.1\n" + "\n".join(lines) + "\n\n"

        try:
            status, _, _ = raw_answer(service, head.encode(), body[: int(len(body) * sent)], is_all=True)
        except http.client.RemoteDisconnected:  # waitress closes the connection
            status = None

        assert status in {None, 400}
        assert service.client.get(f"{PAYMENTS}/{order['reference']}").status_code == 404

    def test_client_that_sends_a_large_body_before_it_reads_is_soon_refused(self, service):
        body = b" " * 12_000_000
        signed = signed_headers(service.credentials, "POST", PAYMENTS, body)
        host = urlsplit(service.base_url)
        request = [b"POST /api/payments HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % len(body)]
        request += [f"{name}: {value}\r\n".encode() for name, value in signed.items()] + [b"\r\n", body]

        with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
            try:  # not TimeoutError
                connection.sendall(b"".join(request))
                answered = connection.recv(12)
            except ConnectionError:
                answered = b""

        assert answered in {b"", b"HTTP/1.1 413"}


class TestReadableContentType:
    @pytest.mark.parametrize(
        ("sent", "read"),
        [
            ("application/json; charset=UTF-8", "application/json; charset=UTF-8"),
            ("multipart/form-data; boundary=x", "multipart/form-data; boundary=x"),
            ("application/json; charset=rot13", "application/json"),
            ("application/json; a*=nonsense''%FF", ""),
        ],
    )
    def test_is_known_to_django(self, sent, read):
        assert readable(sent) == read

    @pytest.mark.django_db
    def test_accepts_the_request(self):
        statuses = []
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": "/livez",
            "CONTENT_TYPE": "a/b; c*=nonsense''%FF",
            "SERVER_NAME": "x",
            "SERVER_PORT": "80",
            "wsgi.input": io.BytesIO(),
        }

        list(application(environ, lambda status, headers: statuses.append(status)))

        assert statuses == ["200 OK"]
