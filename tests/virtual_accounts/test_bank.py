"""Notifications of the hosting bank, signed according to the documentation, not with the service's code."""

import json
import time

import pytest

from payments.models import Transaction
from tests.bank_signing import KEY, signed_headers
from virtual_accounts.models import Transfer, UnappliedMoney, UnclaimedTransfer

pytestmark = pytest.mark.django_db

KEYS = [KEY, "bank-key-of-yesterday-0123456789-01234567"]
PATH = "/bank/transfers"


@pytest.fixture(autouse=True)
def _keys(settings):
    settings.BANK_NOTIFICATION_KEYS = KEYS


@pytest.fixture
def notify(client):
    """Return a function that sends a notification and returns the response."""

    def send(body, *, key=KEYS[0], timestamp=None, **headers):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        signed = signed_headers(raw, key=key, timestamp=timestamp) | headers
        return client.generic("POST", PATH, raw, content_type="application/json", headers=signed)

    return send


def notification(number, **changes):
    sent = {"bank_reference": "nip-1", "account_number": number, "amount": 50_000, "currency": "NGN"}
    return sent | {"sender_name": "Bisi Ojo"} | changes


class TestNotification:
    def test_pays_the_payment(self, api, dynamic, pay_into, notify):
        payment = pay_into(dynamic)

        answer = notify(notification(payment["virtual_account_details"]["account_number"]))

        paid = api.get(f"/api/payments/{payment['reference']}").json()
        assert (answer.status_code, answer.json()) == (
            200,
            {"bank_reference": "nip-1", "applied": "session", "reason": "", "replayed": False},
        )
        assert paid["response_summary"] == "Payment of 50000 NGN received from Bisi Ojo"

    def test_repeated_is_booked_once(self, static, notify):
        sent = notification(static["customer"]["account_number"])

        answers = [notify(sent, key=key).json() for key in KEYS]

        assert [answer["replayed"] for answer in answers] == [False, True]
        assert Transaction.objects.count() == Transfer.objects.count() == 1

    @pytest.mark.parametrize("change", [{"amount": 1}, {"currency": "USD"}])
    def test_with_a_used_reference_is_rejected(self, static, notify, change):
        sent = notification(static["customer"]["account_number"])
        notify(sent)

        answer = notify(sent | change)

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert Transfer.objects.count() == 1

    def test_in_another_currency_is_unapplied(self, static, notify):
        answer = notify(notification(static["customer"]["account_number"], currency="USD"))

        assert (answer.json()["applied"], answer.json()["reason"]) == ("unapplied", "other_currency")

    def test_without_a_sender_has_an_unknown_sender(self, static, notify):
        sent = notification(static["customer"]["account_number"])
        del sent["sender_name"]

        notify(sent)

        summary = Transaction.objects.get().response_summary
        assert summary == "Payment of 50000 NGN received from Unknown sender"

    def test_with_an_invalid_field_is_rejected(self, subtests, static, notify):
        for field, value in [
            ("bank_reference", ""), ("bank_reference", "a b"), ("bank_reference", None),
            ("account_number", "1"), ("amount", 0), ("amount", "50000"), ("amount", 1.5),
            ("currency", "naira"),
        ]:  # fmt: skip
            with subtests.test(field=field, value=value):
                answer = notify(notification(static["customer"]["account_number"], **{field: value}))

                assert answer.status_code == 400
                assert {error["field"] for error in answer.json()["errors"]} == {field}
                assert not Transfer.objects.exists()

    @pytest.mark.parametrize("change", [{"amount": 1}, {"currency": "USD"}])
    def test_with_a_used_reference_is_recorded_for_operators(self, static, notify, change):
        sent = notification(static["customer"]["account_number"])
        notify(sent)

        for _ in range(2):
            answer = notify(sent | change)

        assert not {"existing", "id"} & answer.json().keys()
        assert UnclaimedTransfer.objects.get().why == "conflict"
        assert UnappliedMoney.objects.count() == 0

    @pytest.mark.parametrize("body", [b"{", b"[]", b'{"amount": 1, "amount": 2}', b"\xff"])
    def test_that_is_not_a_json_object_is_rejected(self, notify, body):
        assert notify(body).json()["code"] == "malformed_json"

    def test_is_accepted_in_production(self, static, notify, settings):
        settings.SANDBOX = False

        assert notify(notification(static["customer"]["account_number"])).status_code == 200


class TestSignature:
    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"X-Bank-Signature": ""}, "missing_header"),
            ({"X-Bank-Timestamp": ""}, "missing_header"),
            ({"X-Bank-Signature": "abc"}, "malformed_header"),
            ({"X-Bank-Timestamp": "now"}, "malformed_header"),
            ({"X-Bank-Signature": "0" * 64}, "invalid_signature"),
            ({"X-Bank-Timestamp": "0"}, "timestamp_out_of_range"),
        ],
    )
    def test_must_match(self, static, notify, change, code):
        answer = notify(notification(static["customer"]["account_number"]), **change)

        assert (answer.status_code, answer.json()["code"]) == (401, code)
        assert "string_to_sign" not in answer.json()
        assert not Transfer.objects.exists()

    def test_of_an_unknown_key_is_rejected(self, notify):
        assert notify(notification("1000000014"), key="x" * 40).json()["code"] == "invalid_signature"

    @pytest.mark.parametrize("off", [-302, 302])
    def test_is_valid_for_five_minutes(self, notify, off):
        answer = notify(notification("1000000014"), timestamp=str(int(time.time()) + off))

        assert answer.json()["code"] == "timestamp_out_of_range"

    def test_is_rejected_if_no_bank_is_configured(self, notify, settings):
        settings.BANK_NOTIFICATION_KEYS = []

        answer = notify(notification("1000000014"))

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert answer["Retry-After"]

    def test_rejects_get(self, client):
        assert client.get(PATH).status_code in {401, 405}
