"""Invalid requests about virtual accounts get the right status, code and field, and store nothing."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from ledger.models import Entry
from payments.models import Transaction
from tests import orders
from tests.payments.views.test_bad_input import (
    MALFORMED,
    NOT_AMOUNTS,
    NOT_OBJECTS,
    NOT_STRINGS,
    SECRET,
    assert_not_echoed,
    error_of,
    wide,
)
from virtual_accounts.models import AccountNumber, Session, Transfer, UnappliedMoney, VirtualAccount

pytestmark = [pytest.mark.django_db, pytest.mark.long]

ACCOUNTS = "/api/virtual-accounts"
PAYMENTS = "/api/payments"
SIMULATE = f"{ACCOUNTS}/simulate"
BVN = "22212345678"
# A test run may begin before midnight and end after it.
TOMORROW = timezone.now().date() + timedelta(days=1)
UNPRINTABLE = [
    "Ada\x00",
    "Ada\nObi",
    "Ada\x1b[2J",
    "\u202eibO adA",
    "Ada\u202d",
    "Ada\u2028Obi",
    "\x85Ada",
]
BLANK = ["", " ", "\t\n", "\u3000", "\xa0"]


def stored():
    """Return the number of rows in all tables that a request about virtual accounts may write."""
    held = AccountNumber.objects.filter(holder__isnull=False)
    models = (VirtualAccount, Session, Transfer, UnappliedMoney, Transaction, Entry)
    return [held.count(), *(model.objects.count() for model in models)]


def account(make, name, values):
    """Return one case for each value of a field: the kind of account, the change, and the invalid field."""
    return [(make, {name: value}, name) for value in values]


def static(name, values):
    return account(orders.static_account, name, values)


def dynamic(name, values):
    return account(orders.dynamic_account, name, values)


def business(name, values):
    return account(orders.business_account, name, values)


def address(name, values):
    return [
        (orders.dynamic_account, {"address": orders.address(**{name: value})}, f"address.{name}")
        for value in values
    ]


ACCOUNT_FIELDS = [
    # Fields of every account
    *dynamic("type", [*NOT_STRINGS, "", "DYNAMIC", "dynamic ", "virtual", wide("dynamic"), SECRET, ...]),
    *dynamic("account_type", [*NOT_STRINGS, "", "Individual", "person", "company", SECRET]),
    *dynamic("reference", [*NOT_STRINGS, "", " ", "a b", "a/b", "é", "ref\n", "a\x00", "x" * 101, "٣", "\u202eref", ...]),
    *dynamic("currency", [*NOT_STRINGS, "", "ngn", "NGN ", wide("NGN"), "EUR", "XXA", "566", SECRET, ...]),
    *dynamic(
        "email",
        [
            *NOT_STRINGS, "", "ada", "ada@", "@example.com", "a da@example.com", "ada@example.com\n", "ada@@example.com",
            "ada@example..com", "ada@example.com\x00", "ada@example.com, eve@example.com", "\u202eada@example.com",
            "Ada <ada@example.com>", "a" * 250 + "@example.com", SECRET, ...,
        ],
    ),
    *dynamic("first_name", [*NOT_STRINGS, *BLANK, *UNPRINTABLE, "x" * 101, ...]),
    *dynamic("last_name", [None, 5, *BLANK, *UNPRINTABLE, "😀" * 101, ...]),
    *dynamic("address", NOT_OBJECTS),
    *address("address_line1", [*NOT_STRINGS, "", "x" * 256, "12\x00", ...]),
    *address("address_line2", [None, 12, [], "x" * 256, "a\x00"]),
    *address("city", [*NOT_STRINGS, *BLANK, "x" * 101, "La\x00gos", ...]),
    *address("state", [None, 5, *BLANK, "x" * 101, "a\x00", ...]),
    *address("postal_code", [None, 101241, *BLANK, "1" * 21, "1\x00", ...]),
    *address("country", [*NOT_STRINGS, "", "NG", "nga", "NGAA", "XXX", "ZZZ", "EUR", wide("NGA"), "NGA\n", "566", "Nigeria", ...]),
    # The customer of a static account
    *static("middle_name", [*NOT_STRINGS, *BLANK, *UNPRINTABLE, "x" * 101, ...]),
    *static("phone_number", [*NOT_STRINGS, *BLANK, "0" * 12, "+2348012345678", "080\x001", 8012345678, 10**30, ...]),
    *static(
        "dob",
        [
            *NOT_STRINGS, "", "1990-13-01", "1990-02-29", "1990-00-10", "0000-01-01", "90-12-31", "1990-12-31T00:00:00Z",
            "1990-12-31 ", "1990-W01-1", "19901231", wide("1990-12-31"), "١٩٩٠-١٢-٣١", "-1990-12-31", "9999-12-31",
            TOMORROW.isoformat(), (TOMORROW + timedelta(days=1)).isoformat(), SECRET, ...,
        ],
    ),
    *static(
        "bvn",
        [
            *NOT_STRINGS, "", BVN[:10], BVN + "9", int(BVN), f" {BVN[:10]}", f"{BVN}\n", "2221234567x", "222-1234567",
            wide(BVN), "٢٢٢١٢٣٤٥٦٧٨", "-2221234567", "2.221234e10", f"\u202e{BVN[:10]}", "\x00" * 11, "9" * 30_000, ...,
        ],
    ),
    *static("gender", [*NOT_STRINGS, "", "Male", "FEMALE", "f", "other", "male ", wide("male"), SECRET, ...]),
    # The account of a business
    *business("business_name", [*NOT_STRINGS, *BLANK, *UNPRINTABLE, "x" * 201, ...]),
    *business("phone_number", [*NOT_STRINGS, "", "0" * 12, "+2348012345", "0801 234567", "08O12345678", wide("0801"), "٠٨٠١", "0801\n", ...]),
    *business("bvn", [None, "", BVN[:10], int(BVN), wide(BVN), ...]),
    *business("type", ["dynamic", "Static", "business"]),
    # Fields of other kinds of account
    *dynamic("business_name", [None, "Ada Books Ltd"]),
    *static("business_name", [None, "Ada Books Ltd"]),
    *[
        case for name in ("id", "status", "account_number", "bank_code", "Type", "bvn ", "__proto__", "business", "bvn_hash", "\x00", "a.b")
        for case in static(name, [BVN])
    ],
    *address("planet", [SECRET]),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _many_calls(settings):
    """Let a test try all rows of a table within a minute."""
    settings.RATE_LIMIT_WRITES = 10_000


class TestAccount:
    def test_with_an_invalid_field_is_rejected_by_name(self, subtests, api):
        for make, changes, field in ACCOUNT_FIELDS:
            with subtests.test(make=make, changes=changes, field=field):
                order = make(**changes)
                before = stored()

                answer = api.post(ACCOUNTS, order)

                error = error_of(answer, field)
                assert error["message"]
                assert [found["field"] for found in answer.json()["errors"]] == [field]
                assert answer["Content-Type"] == "application/problem+json"
                assert stored() == before
                assert_not_echoed(answer, order)
                assert BVN not in answer.content.decode()

    def test_gets_every_invalid_field_at_once(self, api):
        order = orders.static_account(
            reference="no good",
            currency="EUR",
            email="ada",
            first_name="",
            dob="never",
            bvn=BVN[:10],
            gender="?",
            business_name="Ada Books",
            colour="red",
            address=orders.address(country="NG", city=..., planet="Earth"),
        )

        answer = api.post(ACCOUNTS, order)

        assert {(error["field"], error["code"]) for error in answer.json()["errors"]} == {
            ("reference", "invalid"),
            ("currency", "unsupported_currency"),
            ("email", "invalid"),
            ("first_name", "invalid_length"),
            ("dob", "invalid"),
            ("bvn", "invalid"),
            ("gender", "invalid_choice"),
            ("business_name", "not_allowed_here"),
            ("colour", "unknown_field"),
            ("address.country", "invalid"),
            ("address.city", "required"),
            ("address.planet", "unknown_field"),
        }
        assert not VirtualAccount.objects.exists()

    def test_with_a_malformed_body_is_rejected(self, subtests, api):
        for body in MALFORMED.values():
            with subtests.test(body=body):
                answer = api.post(ACCOUNTS, body)

                assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")
                assert not VirtualAccount.objects.exists()

    @pytest.mark.parametrize("name", ["bvn", "\\u0062vn", "type"])
    def test_with_a_duplicate_field_is_malformed(self, api, name):
        order = orders.static_account()
        body = json.dumps(order)[:-1] + f', "{name}": "{order["bvn"]}"}}'

        answer = api.post(ACCOUNTS, body.encode())

        assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")
        assert order["bvn"] not in answer.content.decode()
        assert not VirtualAccount.objects.exists()

    def test_that_is_too_large_is_rejected(self, api):
        answer = api.post(ACCOUNTS, orders.static_account(business_name="x" * 70_000))

        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert not VirtualAccount.objects.exists()

    @pytest.mark.parametrize(
        "content_type",
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""],
    )
    def test_of_another_media_type_is_rejected(self, api, content_type):
        body = json.dumps(orders.static_account()).encode()

        answer = api.send("POST", ACCOUNTS, body, content_type=content_type)

        assert answer.status_code == 415
        assert not VirtualAccount.objects.exists()

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("bvn", "22200000001"), ("dob", "1990-12-30"), ("first_name", "Eve"), ("gender", "male"),
            ("email", "eve@shop.example"), ("currency", "USD"), ("address", orders.address(city="Abuja")),
        ],
    )  # fmt: skip
    def test_with_a_used_reference_is_a_conflict(self, api, field, value):
        order = orders.static_account()
        first = api.post(ACCOUNTS, order).json()
        before = stored()

        answer = api.post(ACCOUNTS, order | {field: value})

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert answer.json()["existing"] == {"id": first["id"], "status": "active"}
        assert stored() == before
        assert order["bvn"] not in answer.content.decode()

    @pytest.mark.parametrize(
        "name", ["Ọlábísí", "N'Golo", "O\u2019Neil-Obi", "李", "عائشة", "<b>Ada</b>", "'; DROP TABLE --", "क्\u200dष", "x" * 100]
    )  # fmt: skip
    def test_with_any_valid_name_is_created(self, api, name):
        made = api.post(ACCOUNTS, orders.dynamic_account(first_name=name))

        assert (made.status_code, made.json()["customer"]["name"]) == (201, f"{name} Obi")


class TestList:
    def test_rejects_an_invalid_filter(self, subtests, api):
        for query, field in [
            ("colour=red", "colour"), ("status=", "status"), ("status=ACTIVE", "status"), ("status=closed", "status"),
            ("status=active&status=inactive", "status"), ("type=business", "type"), ("type=%00", "type"),
            ("limit=0", "limit"), ("limit=101", "limit"), ("limit=%D9%A3", "limit"), ("cursor=x", "cursor"),
            ("created_from=2026-01-01", "created_from"), ("created_to=2026-02-30T00:00:00Z", "created_to"),
            ("id=1", "id"), (f"bvn={BVN}", "bvn"), ("request_type=payment", "request_type"),
        ]:  # fmt: skip
            with subtests.test(query=query, field=field):
                answer = api.get(f"{ACCOUNTS}?{query}")

                error_of(answer, field)
                assert BVN not in answer.content.decode()


def payment(name, values):
    return [({name: value}, name) for value in values]


PAYMENT_FIELDS = [
    *payment("payment_method_id", [*NOT_STRINGS, "", " ", "x", "x" * 101, "a\x00", "7" * 36, "{}", SECRET, "null", ...]),
    *payment(
        "expiry_duration",
        [*NOT_STRINGS[:-4], [], {}, "60", "", SECRET, wide("60"), 0, 1, 59, -60, 59.999, 60.5, 31_536_001, 2**31, 2**63, 10**30, ...],
    ),
    *payment("amount", [*NOT_AMOUNTS, ...]),
    *payment("currency", [None, 566, "", "ngn", "EUR", ...]),
    *payment("reference", [None, 5, "", "a b", "x" * 101, ...]),
    *payment("customer", NOT_OBJECTS),
    *payment("source", [None, orders.card_source()]),
    *payment("3ds", [None, {"enabled": True}]),
    *payment("redirect_url", [None, "https://shop.example/back"]),
    *payment("capture", [None, True, False]),
    *payment("payment_method", ["VIRTUAL_ACCOUNT", "virtual-account", "virtual_account ", "bank_transfer"]),
    *payment("account_number", ["1000000014"]),
    *payment("expires_at", ["2030-01-01T00:00:00Z"]),
    *payment("virtual_account_details", [{}]),
]  # fmt: skip


class TestPayment:
    def test_with_an_invalid_field_is_rejected_by_name(self, subtests, api, dynamic):
        for changes, field in PAYMENT_FIELDS:
            with subtests.test(changes=changes, field=field):
                order = orders.transfer_payment(dynamic)
                changed = {name: value for name, value in (order | changes).items() if value is not ...}
                before = stored()

                answer = api.post(PAYMENTS, changed)

                assert error_of(answer, field)["message"]
                assert [found["field"] for found in answer.json()["errors"]] == [field]
                assert stored() == before
                assert_not_echoed(answer, changes)

    @pytest.mark.parametrize("name", ["source", "3ds", "redirect_url", "capture"])
    def test_with_fields_of_a_card_is_explained(self, api, dynamic, name):
        answer = api.post(PAYMENTS, orders.transfer_payment(dynamic) | {name: None})

        assert error_of(answer, name)["code"] == answer.json()["code"] == "not_allowed_here"

    @pytest.mark.parametrize("name", ["payment_method_id", "expiry_duration"])
    @pytest.mark.parametrize("make", [orders.card_payment, orders.payout, orders.card_check])
    def test_only_has_the_fields_of_a_session(self, api, dynamic, make, name):
        value = orders.transfer_payment(dynamic)[name]

        answer = api.post(PAYMENTS, make(**{name: value}))

        assert error_of(answer, name)["code"] == "not_allowed_here"
        assert not Transaction.objects.exists()

    def test_into_another_businesss_account_is_rejected(self, other_api, dynamic, static):
        for account_id in (dynamic, static["id"]):
            answer = other_api.post(PAYMENTS, orders.transfer_payment(account_id))

            assert error_of(answer, "payment_method_id")["code"] == "invalid_payment_method"
            assert answer.json()["code"] == "invalid_payment_method"
        assert not Session.objects.exists()

    @pytest.mark.parametrize(
        "account_id", ["019a0000-0000-7000-8000-000000000000", "va-1", "' OR 1=1 --", "x"]
    )
    def test_into_an_unknown_account_is_rejected(self, api, account_id):
        answer = api.post(PAYMENTS, orders.transfer_payment(account_id))

        assert error_of(answer, "payment_method_id")["code"] == "invalid_payment_method"
        assert not Transaction.objects.exists()

    def test_in_another_currency_than_the_accounts_is_rejected(self, api, dynamic):
        before = stored()

        answer = api.post(PAYMENTS, orders.transfer_payment(dynamic, currency="USD"))

        assert answer.status_code == 400
        assert stored() == before


def transfer(name, values):
    return [({name: value}, name) for value in values]


SIMULATIONS = [
    *transfer(
        "account_number",
        [*NOT_STRINGS, "", "100000001", "10000000140", "100000001x", wide("1000000014"), " 000000014", "1000000014\n",
         "\u0660" * 10, 1000000014, SECRET, ...],
    ),
    *transfer("amount", [*NOT_AMOUNTS, ...]),
    *transfer("sender_name", [*NOT_STRINGS, "", "  ", "x" * 256, "Ada\x00", *UNPRINTABLE]),
    *transfer("currency", ["NGN", None]),
    *transfer("bank_reference", ["nip-1"]),
    *transfer("Amount", [1]),
]  # fmt: skip


def assert_says_failure(answer):
    """Errors of `simulate` are problems that also contain the fields of its other responses."""
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["success"] is False
    assert body["message"]
    assert isinstance(body["message"], str)
    assert body["request_id"]
    assert body["status"] == answer.status_code


class TestSimulation:
    def test_with_an_invalid_field_is_rejected_by_name(self, subtests, api, static):
        for changes, field in SIMULATIONS:
            with subtests.test(changes=changes, field=field):
                request_body = {
                    "account_number": static["customer"]["account_number"],
                    "amount": 50_000,
                } | changes
                request_body = {name: value for name, value in request_body.items() if value is not ...}
                before = stored()

                answer = api.post(SIMULATE, request_body)

                assert_says_failure(answer)
                assert [found["field"] for found in answer.json()["errors"]] == [field]
                assert error_of(answer, field)["message"]
                assert stored() == before
                assert_not_echoed(answer, changes)

    def test_with_a_malformed_body_is_rejected(self, subtests, api):
        for body in MALFORMED.values():
            with subtests.test(body=body):
                answer = api.post(SIMULATE, body)

                assert_says_failure(answer)
                assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")

    @pytest.mark.parametrize("body", [b"", b"{}"])
    def test_with_an_empty_body_lacks_both_fields(self, api, body):
        answer = api.post(SIMULATE, body)

        assert_says_failure(answer)
        assert {error["field"] for error in answer.json()["errors"]} == {"account_number", "amount"}

    @pytest.mark.parametrize("number", ["0000000000", "9999999999", "0123456785"])
    def test_to_a_number_that_was_never_issued_is_unknown(self, api, number):
        answer = api.post(SIMULATE, {"account_number": number, "amount": 1})

        assert_says_failure(answer)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_account")
        assert number not in answer.content.decode()

    def test_to_a_number_that_was_never_assigned_is_unknown(self, api, static):
        unheld = AccountNumber.objects.filter(last_holder__isnull=True).first()

        answer = api.post(SIMULATE, {"account_number": unheld.number, "amount": 1})

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_account")
        assert not Transfer.objects.exists()

    def test_to_another_businesss_number_is_unknown(self, other_api, static):
        number = static["customer"]["account_number"]

        answer = other_api.post(SIMULATE, {"account_number": number, "amount": 1})

        assert_says_failure(answer)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_account")
        assert not Transfer.objects.exists()

    @pytest.mark.parametrize(
        "request_body", [{}, {"amount": "x"}, b"[", {"account_number": "1000000014", "amount": 1}]
    )
    def test_in_production_is_always_rejected(self, api, settings, request_body):
        settings.SANDBOX = False

        answer = api.post(SIMULATE, request_body)

        assert_says_failure(answer)
        assert (answer.status_code, answer.json()["code"]) == (403, "sandbox_only")
        assert not Transfer.objects.exists()

    def test_without_a_signature_is_rejected(self, client):
        answer = client.post(SIMULATE, {"amount": 1}, content_type="application/json")

        assert_says_failure(answer)
        assert (answer.status_code, answer.json()["code"]) == (401, "missing_header")

    def test_of_another_media_type_is_rejected(self, api):
        answer = api.send("POST", SIMULATE, b"amount=1", content_type="application/x-www-form-urlencoded")

        assert_says_failure(answer)
        assert answer.status_code == 415

    def test_that_is_too_large_is_rejected(self, api):
        answer = api.post(SIMULATE, {"sender_name": "x" * 70_000})

        assert_says_failure(answer)
        assert answer.status_code == 413

    @pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
    def test_by_another_method_is_rejected(self, api, method):
        answer = api.send(method, SIMULATE)

        assert_says_failure(answer)
        assert answer.status_code == 405


class TestDeactivation:
    @pytest.mark.parametrize("body", [{"status": "inactive"}, {"reason": "x"}, {"\x00": 1}])
    def test_accepts_no_other_fields(self, api, static, body):
        answer = api.post(f"{ACCOUNTS}/{static['reference']}/deactivate", body)

        [field] = body
        assert error_of(answer, field)["code"] == "unknown_field"
        assert VirtualAccount.objects.get().is_active

    @pytest.mark.parametrize("body", [b"[]", b"null", b"x", b'{"a":1,"a":1}', b"\xff"])
    def test_with_a_malformed_body_is_rejected(self, api, static, body):
        answer = api.post(f"{ACCOUNTS}/{static['reference']}/deactivate", body)

        assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")
        assert VirtualAccount.objects.get().is_active

    def test_of_an_unusual_reference_finds_nothing(self, subtests, api, static):
        for reference in [
            "%00",
            "%0A",
            "%FF",
            "unknown",
            "a%2Fb",
            "%F0%9F%98%80",
            "'--",
            "x" * 3000,
            "*",
            "simulate",
        ]:
            for action in ["", "/deactivate"]:
                with subtests.test(reference=reference, action=action):
                    answer = api.send("POST" if action else "GET", f"{ACCOUNTS}/{reference}{action}")

                    # The test client may spell a URL differently from the signed one.
                    assert answer.status_code in {400, 401, 404}
                    assert VirtualAccount.objects.get().is_active

    def test_of_another_businesss_account_finds_nothing(self, other_api, static):
        for answer in (
            other_api.post(f"{ACCOUNTS}/{static['reference']}/deactivate"),
            other_api.get(f"{ACCOUNTS}/{static['reference']}"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert VirtualAccount.objects.get().is_active
