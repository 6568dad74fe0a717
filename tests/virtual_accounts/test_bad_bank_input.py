"""Invalid notifications of the hosting bank get the right status and code, and store nothing."""

import json
import re
import time
from urllib.parse import urlsplit

import pytest

from merchants.models import Nonce
from payments.models import Transaction
from tests.bank_signing import KEY, signed_headers
from tests.payments.views.test_bad_input import (
    MALFORMED,
    NOT_AMOUNTS,
    NOT_STRINGS,
    SECRET,
    assert_not_echoed,
    error_of,
    wide,
)
from virtual_accounts.models import Transfer

pytestmark = pytest.mark.django_db

PATH = "/bank/transfers"


@pytest.fixture(autouse=True)
def _key(settings):
    settings.BANK_NOTIFICATION_KEYS = [KEY]


@pytest.fixture
def number(static):
    return static["customer"]["account_number"]


@pytest.fixture
def send(client):
    """Return a function that sends bytes with a valid signature, unless `headers` replace it."""

    def post(raw, *, content_type="application/json", method="POST", headers=None, path=PATH):
        signed = signed_headers(raw) | (headers or {})
        return client.generic(method, path, raw, content_type=content_type, headers=signed)

    return post


def notification(number, **changes):
    body = {
        "bank_reference": "nip-1",
        "account_number": number,
        "amount": 50_000,
        "currency": "NGN",
    } | changes
    return {name: value for name, value in body.items() if value is not ...}


def field(name, values):
    return [({name: value}, name) for value in values]


ACCEPTED_AMOUNTS = (
    10**12 + 1,
    1e13,
    10**18,
)  # too large for a merchant's request, but not for incoming money
# Invalid JSON that a notification may contain, as long as its strict fields can be read.
READABLE = {
    "byte order mark", "latin-1", "overlong utf-8", "raw surrogate", "half a pair", "pair the wrong way round",
    "half a pair in a name", "raw nul", "raw line feed in a string", "duplicate key below",
    "deep lists", "deep objects",
}  # fmt: skip
FIELDS = [
    *field("bank_reference", [*NOT_STRINGS, "", " ", "a b", "a\n", "é", "\u202ea", "a\x00", "x" * 101, ...]),
    *field("account_number", [*NOT_STRINGS, "", "1", "1" * 11, wide("1000000014"), "\u0660" * 10, SECRET, ...]),
    *field("amount", [*[value for value in NOT_AMOUNTS if value not in ACCEPTED_AMOUNTS], 2**63, 10**40, ...]),
    *field("currency", [*NOT_STRINGS, "", "ngn", "naira", wide("NGN"), ...]),
]  # fmt: skip


UNREADABLE = {name: body for name, body in MALFORMED.items() if name not in READABLE}


class TestNotification:
    def test_with_an_invalid_field_is_rejected_by_name(self, subtests, send, number):
        for changes, name in FIELDS:
            with subtests.test(changes=changes, name=name):
                answer = send(json.dumps(notification(number, **changes)).encode())

                assert error_of(answer, name)["message"]
                assert [found["field"] for found in answer.json()["errors"]] == [name]
                assert answer["Content-Type"] == "application/problem+json"
                assert not Transfer.objects.exists()
                assert_not_echoed(answer, changes)

    def test_with_a_malformed_body_is_rejected(self, subtests, send):
        for body in UNREADABLE.values():
            with subtests.test(body=body):
                answer = send(body)

                assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")

    @pytest.mark.parametrize("body", [b"", b"{}", MALFORMED["deep lists"], MALFORMED["deep objects"]])
    def test_with_an_empty_body_lacks_every_field(self, send, body):
        answer = send(body)

        missing = {error["field"] for error in answer.json()["errors"] if error["code"] == "required"}
        assert missing == {"bank_reference", "account_number", "amount", "currency"}

    def test_with_a_duplicate_field_is_malformed(self, send, number):
        body = json.dumps(notification(number))[:-1] + ', "amount": 1}'

        assert send(body.encode()).json()["code"] == "malformed_json"
        assert not Transfer.objects.exists()

    def test_that_is_too_large_is_rejected(self, send):
        assert send(b" " * 70_000).status_code == 413

    @pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "text/xml"])
    def test_of_another_media_type_is_rejected(self, send, number, content_type):
        answer = send(json.dumps(notification(number)).encode(), content_type=content_type)

        assert answer.status_code == 415
        assert not Transfer.objects.exists()

    @pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "GET"])
    def test_by_another_method_is_rejected(self, send, method):
        assert send(b"", method=method).status_code == 405

    def test_with_the_reference_of_a_transfer_to_another_number_is_rejected(
        self, api, send, number, dynamic, pay_into
    ):
        send(json.dumps(notification(number)).encode())
        other = pay_into(dynamic)["virtual_account_details"]["account_number"]

        answer = send(json.dumps(notification(other)).encode())

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert Transfer.objects.count() == 1

    def test_distinguishes_references_by_case(self, send, number):
        for reference in ("nip-1", "NIP-1"):
            assert (
                send(json.dumps(notification(number, bank_reference=reference)).encode()).status_code == 200
            )

        assert Transfer.objects.count() == Transaction.objects.count() == 2


NOW = str(int(time.time()))


class TestHeaders:
    def test_that_are_invalid_are_rejected(self, subtests, send, number):
        for headers, code in [
            ({"X-Bank-Timestamp": ""}, "missing_header"),
            ({"X-Bank-Signature": ""}, "missing_header"),
            ({"X-Bank-Timestamp": " "}, "malformed_header"),
            ({"X-Bank-Timestamp": f"+{NOW}"}, "malformed_header"),
            ({"X-Bank-Timestamp": f"-{NOW}"}, "malformed_header"),
            ({"X-Bank-Timestamp": f"{NOW}.5"}, "malformed_header"),
            ({"X-Bank-Timestamp": f"{NOW}\n"}, "malformed_header"),
            ({"X-Bank-Timestamp": f"{NOW},{NOW}"}, "malformed_header"),
            ({"X-Bank-Timestamp": "1e9"}, "malformed_header"),
            ({"X-Bank-Timestamp": "9" * 4000}, "malformed_header"),
            ({"X-Bank-Timestamp": wide(NOW)}, "malformed_header"),
            ({"X-Bank-Timestamp": "2026-01-01T00:00:00Z"}, "malformed_header"),
            ({"X-Bank-Timestamp": "0"}, "timestamp_out_of_range"),
            ({"X-Bank-Timestamp": "9" * 12}, "timestamp_out_of_range"),
            ({"X-Bank-Timestamp": f"{NOW}000"}, "malformed_header"),
            ({"X-Bank-Signature": "0" * 63}, "malformed_header"),
            ({"X-Bank-Signature": "0" * 65}, "malformed_header"),
            ({"X-Bank-Signature": "g" * 64}, "malformed_header"),
            ({"X-Bank-Signature": "0" * 64 + "\n"}, "malformed_header"),
            ({"X-Bank-Signature": wide("0" * 64)}, "malformed_header"),
            ({"X-Bank-Signature": "sha256=" + "0" * 57}, "malformed_header"),
            ({"X-Bank-Signature": "0" * 64}, "invalid_signature"),
            ({"X-Bank-Signature": "F" * 64}, "invalid_signature"),
        ]:
            with subtests.test(headers=headers, code=code):
                answer = send(json.dumps(notification(number)).encode(), headers=headers)

                assert (answer.status_code, answer.json()["code"]) == (401, code)
                assert not Transfer.objects.exists()

    @pytest.mark.parametrize("path", [PATH, "/bank/payout-returns"])
    @pytest.mark.parametrize(
        "headers",
        [
            {"X-Bank-Timestamp": "", "X-Bank-Signature": ""},
            {"X-Bank-Timestamp": ""},
            {"X-Bank-Timestamp": "now"},
            {"X-Bank-Timestamp": "0"},
            {"X-Bank-Signature": ""},
            {"X-Bank-Signature": "abc"},
            {"X-Bank-Signature": "0" * 64},
        ],
    )
    def test_in_errors_have_the_banks_names(self, client, send, path, headers):
        answer = send(b"{}", path=path, headers=headers)

        problem = answer.json()
        named = set(re.findall(r"X-[A-Za-z-]+", f"{problem['title']} {problem['detail']}"))
        explained = client.get(urlsplit(problem["type"]).path).content.decode()
        assert answer.status_code == 401
        assert named <= {"X-Bank-Timestamp", "X-Bank-Signature"}
        assert named == set() or named & headers.keys()
        assert answer["WWW-Authenticate"] == "Sluice-Bank-HMAC-SHA256"
        assert "X-Api-Key" not in explained or "X-Bank-Signature" in explained

    def test_of_a_merchant_are_rejected(self, api, number):
        answer = api.post(PATH, notification(number))

        assert (answer.status_code, answer.json()["code"]) == (401, "missing_header")
        assert not Transfer.objects.exists()

    def test_of_the_bank_are_rejected_elsewhere(self, send, static):
        before = Nonce.objects.count()

        answer = send(b"{}", path="/api/virtual-accounts")

        assert (answer.status_code, answer.json()["code"]) == (401, "missing_header")
        assert Nonce.objects.count() == before

    def test_are_rejected_before_the_body_is_read(self, send):
        answer = send(b"[", headers={"X-Bank-Signature": "0" * 64})

        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_signature")
