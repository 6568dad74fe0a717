"""Signed requests: which are accepted, which are rejected, and the order of checks."""

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from django.utils import timezone
from freezegun import freeze_time

from merchants.api import signing
from merchants.models import ApiKey, Nonce
from payments.models import Transaction
from tests import orders
from tests.clients import Credentials, signed_headers
from tests.factories import ApiKeyFactory
from tests.webhooks.rows import make_endpoint

HEADERS = ("X-Api-Key", "X-Timestamp", "X-Nonce", "X-Signature")
NONCE = "a-nonce-of-sixteen-characters"
WRONG_SIGNATURE = "0" * 64


def refusal(answer, code):
    """Return the body of a 401 after checking its format."""
    body = answer.json()
    assert (answer.status_code, body["code"]) == (401, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["WWW-Authenticate"] == "Sluice-HMAC-SHA256"
    assert body["status"] == 401
    return body


def without_request_id(answer):
    body = answer.json()
    assert body.pop("request_id") == answer.headers["X-Request-Id"]
    return body


@pytest.fixture
def headers(api):
    return signed_headers(api.credentials, "GET", "/api/banks", nonce=NONCE)


@pytest.fixture
def send(api):
    """Send GET /api/banks with exactly these headers."""
    return lambda headers: api.django.get("/api/banks", headers=headers)


@pytest.mark.django_db
class TestSignedRequest:
    def test_is_accepted(self, send, headers):
        assert send(headers).status_code == 200

    def test_is_accepted_with_an_uppercase_signature(self, send, headers):
        answer = send(headers | {"X-Signature": headers["X-Signature"].upper()})

        assert answer.status_code == 200

    def test_records_when_its_key_was_used(self, send, headers, ada):
        send(headers)

        ada.refresh_from_db()
        assert timezone.now() - ada.last_used_at < timedelta(minutes=1)

    @pytest.mark.parametrize(
        "target", ["/api/banks", "/api/payments", "/api/payments/x", "/api/balance-of-none"]
    )
    def test_is_required_by_every_api_url(self, db, client, target):
        answer = client.get(target)

        assert answer.status_code == 401

    @pytest.mark.parametrize("target", ["/api/openapi.json", "/api/docs", "/livez", "/readyz"])
    def test_is_not_required_by_public_urls(self, db, client, target):
        assert client.get(target).status_code == 200

    @pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
    @pytest.mark.parametrize("target", ["/api/collections/", "/api/collections/nothing.json"])
    def test_is_not_required_for_a_404_of_a_collection(self, db, client, method, target):
        answer = client.generic(method, target)

        assert answer.status_code == 404
        assert method == "HEAD" or answer.json()["code"] == "not_found"

    @pytest.mark.parametrize("target", ["/api/collections", "/api/collectionsx", "/api/nothing", "/api/"])
    def test_is_required_for_a_404_of_other_paths(self, db, client, target):
        assert client.get(target).status_code == 401


@pytest.mark.django_db
class TestHeader:
    @pytest.mark.parametrize("name", HEADERS)
    @pytest.mark.parametrize("value", [..., ""], ids=["missing", "empty"])
    def test_that_is_missing_is_named(self, send, headers, name, value):
        del headers[name]
        if value is not ...:
            headers[name] = value

        body = refusal(send(headers), "missing_header")

        assert body["detail"] == f"{name} is missing."

    def test_that_is_missing_is_named_with_the_others(self, send, headers):
        body = refusal(send({"X-Nonce": NONCE}), "missing_header")

        assert body["detail"] == "X-Api-Key and X-Timestamp and X-Signature are missing."

    def test_that_is_malformed_is_named_and_not_echoed(self, subtests, send, headers):
        for name, value in [
            ("X-Api-Key", "pk sandbox"),
            ("X-Api-Key", "pk_sandbox_é"),
            ("X-Api-Key", "p" * 65),
            ("X-Api-Key", "pk_sandbox_1,pk_sandbox_1"),
            ("X-Api-Key", "' OR 1=1 --"),
            ("X-Timestamp", "now"),
            ("X-Timestamp", "-1767225600"),
            ("X-Timestamp", "+1767225600"),
            ("X-Timestamp", "1767225600.0"),
            ("X-Timestamp", "1_767_225_600"),
            ("X-Timestamp", "1e9"),
            ("X-Timestamp", "0x69"),
            ("X-Timestamp", "1" * 13),
            ("X-Timestamp", "1" * 5000),
            ("X-Timestamp", "²"),
            ("X-Timestamp", "1767225600,1767225600"),
            ("X-Nonce", "a" * 15),
            ("X-Nonce", "a" * 129),
            ("X-Nonce", "a nonce with some blanks"),
            ("X-Nonce", "a.nonce.with.some.points"),
            ("X-Nonce", "nonce-with-a-newline\n"),
            ("X-Nonce", "aaaaaaaaaaaaaaaa,bbbbbbbbbbbbbbbb"),
            ("X-Signature", "0" * 63),
            ("X-Signature", "0" * 65),
            ("X-Signature", "g" * 64),
            ("X-Signature", "sha256=" + "0" * 64),
            ("X-Signature", "0" * 64 + "\n"),
            ("X-Signature", "0" * 64 + "," + "0" * 64),
        ]:
            with subtests.test(name=name, value=value):
                answer = send(headers | {name: value})

                body = refusal(answer, "malformed_header")
                assert name in body["detail"]
                assert len(value) < 8 or value.strip() not in answer.content.decode()

    @pytest.mark.parametrize(
        ("name", "value", "detail"),
        [
            ("X-Timestamp", "soon", "X-Timestamp must be Unix seconds, 1 to 12 decimal digits."),
            ("X-Timestamp", "1767225600000", "X-Timestamp must be Unix seconds, 1 to 12 decimal digits; these look like milliseconds."),
            ("X-Timestamp", "2026-01-01T00:00:00Z", "X-Timestamp must be Unix seconds, 1 to 12 decimal digits; send seconds, not a date."),
            ("X-Timestamp", "Thu, 01 Jan 2026 00:00:00 GMT", "X-Timestamp must be Unix seconds, 1 to 12 decimal digits; send seconds, not a date."),
            ("X-Nonce", "short", "X-Nonce must have 16 to 128 characters of A-Z a-z 0-9 - _; yours has 5."),
            ("X-Nonce", "a.nonce.with.some.points", "X-Nonce must have 16 to 128 characters of A-Z a-z 0-9 - _."),
            ("X-Signature", "0" * 43 + "=", "X-Signature must be 64 hex digits; this looks like Base64."),
            ("X-Signature", "0" * 64 + ",1", "X-Signature must be 64 hex digits; it was sent more than once."),
            ("X-Api-Key", "sk_sandbox_1", "X-Api-Key must be the public id of a key pair (pk_…); that is the secret key, which must never be sent."),
        ],
    )  # fmt: skip
    def test_that_is_malformed_gets_the_expected_format(self, send, headers, name, value, detail):
        assert refusal(send(headers | {name: value}), "malformed_header")["detail"] == detail

    @pytest.mark.parametrize(("offset", "side"), [(-4000, "behind"), (4000, "ahead of")])
    def test_that_is_out_of_range_gets_the_difference_and_direction(self, api, offset, side):
        stale = signed_headers(api.credentials, "GET", "/api/banks", timestamp=str(int(time.time()) + offset))

        detail = refusal(api.django.get("/api/banks", headers=stale), "timestamp_out_of_range")["detail"]

        assert f"seconds {side} the server's clock" in detail
        assert "±300 s" in detail

    @pytest.mark.parametrize("length", [16, 128])
    def test_that_is_a_nonce_of_a_permitted_length_is_accepted(self, api, length):
        headers = signed_headers(api.credentials, "GET", "/api/banks", nonce="-" * length)

        assert api.django.get("/api/banks", headers=headers).status_code == 200


@pytest.mark.django_db
class TestOrderOfChecks:
    """Each request fails one check and all later ones. Only the first error is reported."""

    EVERYTHING_WRONG = {
        "X-Api-Key": "pk_sandbox_unknown",
        "X-Timestamp": "1",
        "X-Nonce": NONCE,
        "X-Signature": WRONG_SIGNATURE,
    }

    def test_checks_presence_of_headers_before_their_format(self, send):
        wrong = self.EVERYTHING_WRONG | {"X-Signature": "", "X-Nonce": "short"}

        refusal(send(wrong), "missing_header")

    def test_checks_the_format_before_the_key(self, send):
        refusal(send(self.EVERYTHING_WRONG | {"X-Signature": "short"}), "malformed_header")

    def test_checks_the_key_before_the_timestamp(self, send):
        refusal(send(self.EVERYTHING_WRONG), "unknown_key")

    def test_checks_the_timestamp_before_the_signature(self, send, ada):
        wrong = self.EVERYTHING_WRONG | {"X-Api-Key": ada.public_id}

        refusal(send(wrong), "timestamp_out_of_range")

    def test_checks_the_signature_before_the_nonce(self, send, headers):
        send(headers)

        refusal(send(headers | {"X-Signature": WRONG_SIGNATURE}), "invalid_signature")

    def test_checks_the_nonce_before_the_request(self, api):
        target, body = "/api/payments", b"this is no JSON"
        headers = signed_headers(api.credentials, "POST", target, body)

        answers = [
            api.django.generic("POST", target, body, content_type="application/json", headers=headers)
            for _ in range(2)
        ]

        assert answers[0].json()["code"] == "malformed_json"
        refusal(answers[1], "nonce_reused")


@pytest.mark.django_db
class TestUnknownKey:
    def revoke(self, key):
        key.revoked_at = timezone.now()
        key.save()

    def expire(self, key):
        key.expires_at = timezone.now()
        key.save()

    def deactivate(self, key):
        key.business.is_active = False
        key.business.save()

    def delete(self, key):
        key.delete()

    @pytest.mark.parametrize("end", ["revoke", "expire", "deactivate", "delete"])
    @pytest.mark.parametrize("was_used_before", [False, True])
    def test_gets_the_same_response_for_every_reason(self, api, ada, client, end, was_used_before):
        unknown = signed_headers(api.credentials, "GET", "/api/banks") | {"X-Api-Key": "pk_sandbox_unknown"}
        expected = without_request_id(client.get("/api/banks", headers=unknown))
        if was_used_before:
            assert api.get("/api/banks").status_code == 200
            Nonce.objects.all().delete()
        getattr(self, end)(ada)

        answer = api.get("/api/banks")

        refusal(answer, "unknown_key")
        assert without_request_id(answer) == expected
        assert not Nonce.objects.exists()

    def test_is_not_one_that_expires_later(self, api, ada):
        ada.expires_at = timezone.now() + timedelta(minutes=1)
        ada.save()

        assert api.get("/api/banks").status_code == 200

    def test_costs_as_many_hmacs_as_a_wrong_signature(self, send, headers, monkeypatch, settings):
        settings.SANDBOX = False  # a sandbox tries the known mistakes too
        made = []
        sign = signing.sign
        monkeypatch.setattr(signing, "sign", lambda *given: made.append(given) or sign(*given))

        def hmacs_of(**changes):
            made.clear()
            send(headers | {name.replace("_", "-"): value for name, value in changes.items()})
            return len(made)

        unknown = hmacs_of(X_Api_Key="pk_sandbox_unknown")
        wrong = hmacs_of(X_Signature=WRONG_SIGNATURE)
        wrong_again = hmacs_of(X_Signature=WRONG_SIGNATURE)  # the key is now cached
        right = hmacs_of()

        assert (unknown, wrong, wrong_again, right) == (1, 1, 1, 1)


@pytest.mark.django_db
class TestTimestamp:
    NOW = 1_780_000_000

    def call(self, api, offset):
        headers = signed_headers(api.credentials, "GET", "/api/banks", timestamp=str(self.NOW + offset))
        with freeze_time(datetime.fromtimestamp(self.NOW, tz=UTC)):
            return api.django.get("/api/banks", headers=headers)

    @pytest.mark.parametrize("offset", [-300, -299, 0, 299, 300])
    def test_is_accepted_within_the_tolerance(self, api, offset):
        assert self.call(api, offset).status_code == 200

    @pytest.mark.parametrize("offset", [-86_400, -301, 301, 86_400])
    def test_is_rejected_outside_it_with_the_servers_time(self, api, offset):
        body = refusal(self.call(api, offset), "timestamp_out_of_range")

        assert body["server_time"] == self.NOW
        assert not Nonce.objects.exists()

    @pytest.mark.parametrize("timestamp", ["0", "999999999999"])
    def test_is_rejected_at_extreme_values(self, api, timestamp):
        headers = signed_headers(api.credentials, "GET", "/api/banks", timestamp=timestamp)

        refusal(api.django.get("/api/banks", headers=headers), "timestamp_out_of_range")


@pytest.mark.django_db
class TestInvalidSignature:
    TARGET = "/api/payments?limit=5"

    def test_is_explained_in_the_sandbox(self, api):
        headers = signed_headers(api.credentials, "GET", "/api/payments", nonce=NONCE)

        body = refusal(api.django.get(self.TARGET, headers=headers), "invalid_signature")

        timestamp, nonce, method, target, body_hash = body["string_to_sign"].split("\n")
        assert (timestamp, nonce, method) == (headers["X-Timestamp"], NONCE, "GET")
        assert target == self.TARGET
        assert body_hash.startswith("e3b0c442")

    def test_is_not_explained_in_production(self, send, headers, settings):
        settings.SANDBOX = False

        body = refusal(send(headers | {"X-Signature": WRONG_SIGNATURE}), "invalid_signature")

        assert "string_to_sign" not in body

    @pytest.mark.parametrize(
        ("signed", "code"),
        [
            ({"body": b'{"a": 1, "b": [2]}'}, "body_reserialised"),  # as Python writes it
            ({"body": b'{"b":[2],"a":1}'}, "body_reserialised"),
            ({"body": b'{\n  "b": [\n    2\n  ],\n  "a": 1\n}'}, "body_reserialised"),
            ({"body": b""}, "body_empty"),
            ({"target": "/api/payments"}, "query_missing"),
            ({"target": "https://testserver/api/payments?limit=5"}, "full_url"),
            ({"target": "/payments?limit=5"}, "path_differs"),
            ({"target": "/gateway/api/payments?limit=5"}, "path_differs"),
            ({"timestamp": "1769846400123"}, "timestamp_in_milliseconds"),
            ({"method": "post"}, "method_in_lower_case"),
        ],
    )
    def test_names_the_mistake_in_the_sandbox(self, api, signed, code):
        body = b'{"b": [2], "a": 1 }'
        right = {"method": "POST", "target": self.TARGET, "body": body, "timestamp": "1769846400"}
        headers = signed_headers(api.credentials, **(right | signed)) | {"X-Timestamp": "1769846400"}

        with freeze_time(datetime.fromtimestamp(1769846400, tz=UTC)):
            answer = api.django.generic(
                "POST", self.TARGET, body, content_type="application/json", headers=headers
            )

        found = refusal(answer, "invalid_signature")["mistake"]
        assert (found["code"], bool(found["message"])) == (code, True)

    @pytest.mark.parametrize("of", ["webhook", "key pair"])
    def test_names_another_secret_of_the_business(self, api, ada, of):
        endpoint = make_endpoint(business=ada.business)
        other = ApiKeyFactory(business=ada.business)
        secret = endpoint.hash_key if of == "webhook" else other.secret
        signed = signed_headers(Credentials(ada.public_id, secret), "GET", "/api/banks")

        answer = refusal(api.django.get("/api/banks", headers=signed), "invalid_signature")

        assert answer["mistake"]["code"] == {"webhook": "webhook_key", "key pair": "other_key_pair"}[of]
        assert secret not in json.dumps(answer)

    def test_names_no_secret_of_another_business(self, api, ada, bisi):
        signed = signed_headers(Credentials(ada.public_id, bisi.secret), "GET", "/api/banks")

        answer = refusal(api.django.get("/api/banks", headers=signed), "invalid_signature")

        assert "mistake" not in answer

    def test_names_no_mistake_in_production(self, api, settings):
        settings.SANDBOX = False
        headers = signed_headers(api.credentials, "GET", "/api/payments")

        body = refusal(api.django.get(self.TARGET, headers=headers), "invalid_signature")

        assert "mistake" not in body

    def test_shows_neither_the_secret_nor_the_right_signature(self, send, headers, ada):
        answer = send(headers | {"X-Signature": WRONG_SIGNATURE})

        shown = answer.content.decode()
        assert ada.secret not in shown
        assert headers["X-Signature"] not in shown

    def test_shows_a_card_number_in_the_target_masked(self, api):
        headers = signed_headers(api.credentials, "GET", "/api/payments")

        answer = api.django.get(f"/api/payments/{orders.GOOD_CARD}", headers=headers)

        body = refusal(answer, "invalid_signature")
        assert "/api/payments/408408******4081" in body["string_to_sign"]
        assert orders.GOOD_CARD not in answer.content.decode()

    def test_results_from_the_secret_of_another_business(self, api, bisi, send):
        forged = signed_headers(Credentials(api.credentials.api_key, bisi.secret), "GET", "/api/banks")

        refusal(send(forged), "invalid_signature")


@pytest.mark.django_db
class TestNonce:
    def test_is_valid_for_one_request(self, send, headers):
        first, second = send(headers), send(headers)

        assert first.status_code == 200
        refusal(second, "nonce_reused")

    def test_is_also_used_up_by_another_request(self, api):
        api.django.get(
            "/api/banks", headers=signed_headers(api.credentials, "GET", "/api/banks", nonce=NONCE)
        )
        other = signed_headers(api.credentials, "GET", "/api/payments", nonce=NONCE)

        refusal(api.django.get("/api/payments", headers=other), "nonce_reused")

    def test_is_not_used_up_by_a_wrong_signature(self, send, headers):
        refusal(send(headers | {"X-Signature": WRONG_SIGNATURE}), "invalid_signature")

        assert not Nonce.objects.exists()
        assert send(headers).status_code == 200

    def test_is_separate_for_each_key(self, api, other_api):
        calls = [
            signed_headers(one.credentials, "GET", "/api/banks", nonce=NONCE) for one in (api, other_api)
        ]

        answers = [api.django.get("/api/banks", headers=headers) for headers in calls]

        assert [answer.status_code for answer in answers] == [200, 200]

    def test_is_case_sensitive(self, api):
        for nonce in ("nonce-nonce-nonce", "NONCE-nonce-nonce"):
            headers = signed_headers(api.credentials, "GET", "/api/banks", nonce=nonce)
            assert api.django.get("/api/banks", headers=headers).status_code == 200


@pytest.mark.django_db
class TestNonceOfALookup:
    @pytest.fixture
    def payment(self, api):
        return api.post("/api/payments", orders.card_payment()).json()

    def look_up(self, api, reference, *, key=None):
        target = f"/api/payments/{reference}"
        headers = signed_headers(key or api.credentials, "GET", target, nonce=NONCE)
        return api.django.get(target, headers=headers)

    def test_is_valid_once(self, api, payment):
        first, second = (self.look_up(api, payment["reference"]) for _ in range(2))

        assert (first.status_code, first.json()) == (200, payment)
        refusal(second, "nonce_reused")

    def test_is_valid_once_if_nothing_is_found(self, api):
        first, second = (self.look_up(api, "order-1") for _ in range(2))

        assert (first.status_code, first.json()["code"]) == (404, "not_found")
        refusal(second, "nonce_reused")

    def test_finds_nothing_of_another_business(self, api, other_api, payment):
        assert self.look_up(other_api, payment["reference"]).status_code == 404

    def test_finds_nothing_with_a_revoked_key(self, api, payment):
        ApiKey.objects.update(revoked_at=timezone.now())

        refusal(self.look_up(api, payment["reference"]), "unknown_key")
        assert not Nonce.objects.filter(nonce=NONCE).exists()

    def test_finds_nothing_with_a_wrong_signature(self, api, payment):
        forged = Credentials(api.credentials.api_key, "sk_sandbox_" + "0" * 43)

        refusal(self.look_up(api, payment["reference"], key=forged), "invalid_signature")
        assert not Nonce.objects.filter(nonce=NONCE).exists()

    def test_is_one_of_two_statements(self, api, payment, django_assert_num_queries):
        with django_assert_num_queries(2):
            assert self.look_up(api, payment["reference"]).status_code == 200


@pytest.mark.django_db(transaction=True)
class TestNonceOfAFailedRequest:
    """With real commits, a nonce stays used if the request fails."""

    def send_twice(self, api, order):
        body = json.dumps(order).encode()
        headers = signed_headers(api.credentials, "POST", "/api/payments", body)
        return [
            api.django.generic(
                "POST", "/api/payments", body, content_type="application/json", headers=headers
            )
            for _ in range(2)
        ]

    def test_stays_used_after_a_rail_failure(self, api, settings):
        settings.CARD_ACQUIRER = "tests.rails.CardLeakingAcquirer"

        failed, again = self.send_twice(api, orders.card_payment())

        assert failed.status_code == 500
        refusal(again, "nonce_reused")

    def test_stays_used_after_an_invalid_request(self, api):
        failed, again = self.send_twice(api, orders.card_payment(amount=-1))

        assert failed.status_code == 400
        refusal(again, "nonce_reused")


@pytest.mark.django_db
class TestTamperedRequest:
    """One bit is flipped at every position of a signed request, bit 0 or 2 in turn. Bit 5 is skipped: it is
    the case of a letter, which doesn't matter in a method or a hexadecimal signature.
    """

    BITS = (0, 2)

    def variants(self, text):
        for position, byte in enumerate(text):
            bit = self.BITS[position % len(self.BITS)]
            yield text[:position] + bytes([byte ^ 1 << bit]) + text[position + 1 :]

    def test_is_rejected_whichever_byte_of_its_body_differs(self, api):
        body = json.dumps(orders.payout()).encode()
        headers = signed_headers(api.credentials, "POST", "/api/payments", body)

        for changed in self.variants(body):
            answer = api.django.generic(
                "POST", "/api/payments", changed, content_type="application/json", headers=headers
            )
            refusal(answer, "invalid_signature")

        assert not Transaction.objects.exists()
        assert not Nonce.objects.exists()

    @pytest.mark.parametrize("name", HEADERS)
    def test_is_rejected_whichever_byte_of_a_header_differs(self, send, headers, name):
        for changed in self.variants(headers[name].encode()):
            answer = send(headers | {name: changed.decode("latin-1")})
            assert answer.status_code == 401, changed

        assert not Nonce.objects.exists()
        assert send(headers).status_code == 200

    def test_is_rejected_whichever_byte_of_its_target_differs(self, api):
        target = "/api/payments?status=success&limit=5"
        headers = signed_headers(api.credentials, "GET", target)

        for changed in self.variants(target.encode()):
            answer = api.django.get(changed.decode(), headers=headers)
            assert answer.status_code in {401, 404}, changed

        assert not Nonce.objects.exists()
        assert api.django.get(target, headers=headers).status_code == 200

    def test_is_rejected_whichever_byte_of_its_method_differs(self, api, headers):
        for changed in self.variants(b"GET"):
            answer = api.django.generic(changed.decode(), "/api/banks", headers=headers)
            refusal(answer, "invalid_signature")

        assert api.django.get("/api/banks", headers=headers).status_code == 200

    @pytest.mark.parametrize(
        "sent",
        [
            "/api/payments?limit=5&status=success",
            "/api/payments?status=success&limit=5&",
            "/api/payments?status=succ%65ss&limit=5",
            "/api/payments?status=success",
            "/api/payments",
        ],
    )
    def test_is_rejected_with_an_equivalent_query(self, api, sent):
        headers = signed_headers(api.credentials, "GET", "/api/payments?status=success&limit=5")

        refusal(api.django.get(sent, headers=headers), "invalid_signature")


@pytest.mark.django_db
class TestReadOnlyKey:
    @pytest.fixture(autouse=True)
    def _read_only(self, ada):
        ada.access = ApiKey.Access.READ_ONLY
        ada.save()

    @pytest.mark.parametrize("target", ["/api/banks", "/api/payments"])
    def test_can_read(self, api, target):
        assert api.get(target).status_code == 200

    @pytest.mark.parametrize("action", ["", "/some/capture", "/some/void", "/some/refunds"])
    def test_cannot_write(self, api, action):
        answer = api.post(f"/api/payments{action}", orders.payout())

        assert (answer.status_code, answer.json()["code"]) == (403, "key_may_not_write")
        assert not Transaction.objects.exists()

    def test_cannot_write_once_it_becomes_one(self, other_api, bisi):
        assert other_api.post("/api/payments", orders.payout()).status_code == 201
        ApiKey.objects.filter(pk=bisi.pk).update(access=ApiKey.Access.READ_ONLY)

        answer = other_api.post("/api/payments", orders.payout())

        assert answer.status_code == 403


@pytest.mark.django_db
class TestForeignResource:
    @pytest.mark.parametrize(
        ("method", "action", "body"),
        [
            ("GET", "", None),
            ("GET", "/refunds", None),
            ("POST", "/refunds", {"reference": "refund-1"}),
            ("POST", "/capture", {"amount": 1}),
            ("POST", "/void", None),
        ],
    )
    def test_is_treated_as_missing(self, api, other_api, method, action, body):
        order = orders.card_payment(capture=False)
        assert other_api.post("/api/payments", order).status_code == 201
        raw = b"" if body is None else json.dumps(body).encode()

        foreign = api.send(method, f"/api/payments/{order['reference']}{action}", raw)
        unknown = api.send(method, f"/api/payments/no-such-reference{action}", raw)

        assert (foreign.status_code, foreign.json()["code"]) == (404, "not_found")
        assert without_request_id(foreign) == without_request_id(unknown)
        assert Transaction.objects.get().awaiting == "capture"

    def test_is_in_no_list_of_another_business(self, api, other_api):
        created = other_api.post("/api/payments", orders.payout()).json()

        assert api.get("/api/payments").json()["data"] == []
        assert api.get(f"/api/payments?id={created['id']}").json()["data"] == []


def raw_call(service, target, pairs, *, method="GET", body=b""):
    """Send headers as a list, in which names may be repeated."""
    connection = http.client.HTTPConnection(urlsplit(service.base_url).netloc, timeout=60)
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in pairs:
            connection.putheader(name, value)
        if body:
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.journey
@pytest.mark.xdist_group("journey")
class TestOverHttp:
    @pytest.mark.parametrize("name", HEADERS)
    @pytest.mark.parametrize("same", [True, False], ids=["same value", "another value"])
    def test_duplicate_header_is_malformed(self, service, name, same):
        headers = signed_headers(service.credentials, "GET", "/api/banks")
        twin = headers[name] if same else headers[name][::-1]

        status, body = raw_call(service, "/api/banks", [*headers.items(), (name.lower(), twin)])

        assert (status, body["code"]) == (401, "malformed_header")
        assert name in body["detail"]

    def test_header_with_an_underscore_is_ignored(self, service):
        headers = signed_headers(service.credentials, "GET", "/api/banks")

        status, body = raw_call(
            service, "/api/banks", [(name.replace("-", "_"), value) for name, value in headers.items()]
        )

        assert (status, body["code"]) == (401, "missing_header")

    @pytest.mark.parametrize(
        "target",
        [
            "/api/banks?",
            "/api/payments?limit=5&status=%73uccess",
            "/api/payments?created_from=2026-01-01T00:00:00%2b01:00",
            "/api/payments/no%2Dsuch%20reference",
        ],
    )
    def test_target_is_signed_as_it_is_sent(self, service, target):
        headers = signed_headers(service.credentials, "GET", target)

        status, _ = raw_call(service, target, headers.items())

        assert status == (404 if "no%2Dsuch" in target else 200)

    def test_replay_of_a_hundred_at_once_is_accepted_once(self, service):
        order = orders.payout()
        body = json.dumps(order).encode()
        headers = signed_headers(service.credentials, "POST", "/api/payments", body)

        with ThreadPoolExecutor(max_workers=50) as pool:
            calls = [
                pool.submit(raw_call, service, "/api/payments", headers.items(), method="POST", body=body)
                for _ in range(100)
            ]
        answers = [call.result() for call in calls]

        assert sorted(status for status, _ in answers) == [201] + [401] * 99
        assert {answer["code"] for status, answer in answers if status == 401} == {"nonce_reused"}

    @pytest.mark.long
    def test_key_that_is_revoked_is_unknown_at_once(self, service):
        merchant = service.open_business("Chidi Chairs")
        assert merchant.get("/api/banks").status_code == 200
        rotated = service.command("rotate_api_key", "--business", "Chidi Chairs", "--overlap", "0", "--json")

        answer = merchant.get("/api/banks")

        assert rotated.returncode == 0
        refusal(answer, "unknown_key")
