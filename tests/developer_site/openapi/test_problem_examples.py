"""The examples of problems are what the service really sends."""

import pytest
from freezegun import freeze_time

from developer_site.openapi.problem_examples import SERVER_TIME, STRING_TO_SIGN, problem_example
from merchants.api import signing
from merchants.models import ApiKey
from tests import orders
from tests.clients import Credentials, InProcessClient, signed_headers
from tests.factories import ApiKeyFactory

PAYMENTS = "/api/payments"
ANY_NONCE = "A1b2C3d4E5f6G7h8"
CHANGES = {
    "invalid_request": {"source": orders.card_source(pan="4084")},
    "unknown_field": {"narratoin": "Two books"},
    "unsupported_currency": {"currency": "EUR"},
    "reserved_reference": {"reference": "va_1"},
    "card_number_misplaced": {"narration": orders.card_source()["pan"]},
}


def text_of(answer):
    """Return what a problem says, without its request id."""
    body = answer.json()
    assert answer.status_code == body["status"]
    return body | {"request_id": ""}


def example(code):
    return problem_example(code) | {"request_id": ""}


def create(api):
    order = orders.card_payment()
    assert api.post(PAYMENTS, order).status_code == 201
    return order


@pytest.mark.parametrize("code", CHANGES)
def test_of_wrong_fields_are_what_the_service_sends(api, code):
    answer = api.post(PAYMENTS, orders.card_payment() | CHANGES[code])

    assert text_of(answer) == example(code)


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("malformed_json", b'{\n"a": 1,\n"b": 2,\n  x'),
        ("not_allowed_here", orders.payout(redirect_url="https://shop.example/back")),
        ("invalid_payment_method", orders.transfer_payment("01980a5e-7b00-7c00-8000-000000000003")),
        ("body_too_large", b" " * 70_000),
    ],
)
def test_of_refused_bodies_are_what_the_service_sends(api, code, body):
    assert text_of(api.post(PAYMENTS, body)) == example(code)


@pytest.mark.parametrize(
    ("code", "method", "target", "body"),
    [
        ("not_found", "GET", "/api/payments/none", None),
        ("method_not_allowed", "PUT", PAYMENTS, b"{}"),
        (
            "unknown_account",
            "POST",
            "/api/virtual-accounts/simulate",
            b'{"account_number": "0123456789", "amount": 1}',
        ),
        (
            "unknown_beneficiary",
            "POST",
            "/api/banks/resolve",
            b'{"account_number": "0000000000", "bank_code": "058"}',
        ),
    ],
)
def test_of_resources_are_what_the_service_sends(api, code, method, target, body):
    assert text_of(api.send(method, target, body or b"")) == example(code)


def test_of_conflicts_are_what_the_service_sends(api):
    order, check = create(api), orders.card_check()
    api.post(PAYMENTS, check)
    path = f"{PAYMENTS}/{order['reference']}"
    shown = api.get(path).json()

    duplicate = text_of(api.post(PAYMENTS, order | {"amount": 60_000}))
    wrong_state = text_of(api.post(f"{path}/capture"))
    not_refundable = text_of(api.post(f"{PAYMENTS}/{check['reference']}/refunds", {"reference": "refund-1"}))
    too_large = text_of(api.post(f"{path}/refunds", {"reference": "refund-2", "amount": 60_000}))

    assert duplicate == example("duplicate_reference") | {
        "existing": {"id": shown["id"], "status": "success"}
    }
    assert wrong_state == example("invalid_state")
    assert not_refundable == example("not_refundable")
    assert too_large == example("amount_too_large")


def test_of_rights_are_what_the_service_sends(api, ada, settings):
    key = ApiKeyFactory(business=ada.business, access=ApiKey.Access.READ_ONLY)
    reader = InProcessClient(Credentials(key.public_id, key.secret))
    settings.SANDBOX = False

    assert text_of(api.post("/api/sandbox/advance", {"payment": "order-1"})) == example("sandbox_only")
    assert text_of(reader.post(PAYMENTS, orders.payout())) == example("key_may_not_write")


class TestHeaders:
    @pytest.fixture
    def send(self, api):
        """Return a function that sends a signed GET with other headers, or without some."""

        def send(**changes):
            headers = signed_headers(api.credentials, "GET", "/api/banks", nonce=ANY_NONCE)
            headers |= {name.replace("_", "-"): value for name, value in changes.items()}
            return text_of(api.django.get("/api/banks", headers={k: v for k, v in headers.items() if v}))

        return send

    @pytest.mark.parametrize(
        ("code", "changes"),
        [
            ("missing_header", {"X_Nonce": "", "X_Signature": ""}),
            ("malformed_header", {"X_Nonce": "short"}),
            ("unknown_key", {"X_Api_Key": "pk_sandbox_none"}),
        ],
    )
    def test_are_what_the_service_sends(self, send, code, changes):
        assert send(**changes) == example(code)

    def test_of_the_clock_and_signature_are_what_the_service_sends(self, send, ada):
        with freeze_time("2026-01-31T08:00:00Z"):
            late = send(X_Timestamp=str(SERVER_TIME - 3600))
            wrong = send(X_Signature=signing.sign(ada.secret, STRING_TO_SIGN + "\n"))

        assert late == example("timestamp_out_of_range")
        assert wrong == example("invalid_signature")
        assert wrong["string_to_sign"] == STRING_TO_SIGN

    def test_of_a_repeated_nonce_is_what_the_service_sends(self, api, send):
        api.django.get(
            "/api/banks", headers=signed_headers(api.credentials, "GET", "/api/banks", nonce=ANY_NONCE)
        )

        assert send() == example("nonce_reused")
