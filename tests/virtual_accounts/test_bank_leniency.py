"""Incoming money is recorded regardless of the sender data in the notification."""

import json
import time

import pytest

from ledger.services import LARGEST_ENTRY
from merchants.models import ApiKey
from tests import orders
from tests.bank_signing import KEY, signed_headers
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import AccountNumber, Transfer, UnappliedMoney, UnclaimedTransfer
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db, pytest.mark.long]

NOT_TEXT = [None, True, 0, 17, 10.5, [], ["a"], {}, {"a": {"b": [1, None]}}]
ODD_TEXT = ["", " ", "x" * 5_000, "a\x00b", "a\nb", "\u202ea", "\ud83d", "\U0001f600" * 300]


@pytest.fixture(autouse=True)
def _key(settings):
    settings.BANK_NOTIFICATION_KEYS = [KEY]


@pytest.fixture
def number(static):
    return static["customer"]["account_number"]


@pytest.fixture
def notify(client):
    """Return a function that sends a signed notification."""

    def send(body, *, content_type="application/json", **headers):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        signed = signed_headers(raw) | headers
        return client.generic("POST", "/bank/transfers", raw, content_type=content_type, headers=signed)

    return send


def notification(number, **changes):
    return {
        "bank_reference": "nip-1",
        "account_number": number,
        "amount": 50_000,
        "currency": "NGN",
    } | changes


class TestSender:
    @pytest.mark.parametrize(
        "name", ["sender_name", "sender_account_number", "sender_bank_code", "narration", "colour"]
    )
    def test_of_any_form_is_accepted(self, subtests, notify, number, name):
        for place, value in enumerate([*NOT_TEXT, *ODD_TEXT, "000", "999999", "1" * 11]):
            with subtests.test(ascii(value)):
                answer = notify(notification(number, bank_reference=f"nip-{place}", **{name: value}))

                assert (answer.status_code, answer.json()["applied"]) == (200, "new_payment")
                assert Transfer.objects.get(bank_reference=f"nip-{place}").sender_name

    def test_is_stored_as_sent(self, notify, number):
        notify(
            notification(
                number,
                sender_name="Bisi\nOjo",
                sender_account_number="12345678901",
                sender_bank_code="999",
                narration="Invoice 7",
                channel={"id": 4},
            )
        )

        transfer = Transfer.objects.get()
        assert transfer.sender == {
            "name": "Bisi Ojo", "account_number": "12345678901", "bank_code": "999",
        }  # fmt: skip
        assert transfer.narration == "Invoice 7"
        assert transfer.extra_members == {
            "sender_account_number": "12345678901", "channel": '{"id": 4}',
        }  # fmt: skip

    def test_keeps_digits_that_no_card_scheme_issues(self, notify, number):
        notify(notification(number, sender_name="Bisi +2348031230007", narration="IMEI 356938035643809"))

        transfer = Transfer.objects.get()
        assert (transfer.sender_name, transfer.narration) == ("Bisi +2348031230007", "IMEI 356938035643809")

    def test_at_a_listed_bank_is_stored_with_the_banks_code(self, notify, number):
        notify(notification(number, sender_account_number="0123456789", sender_bank_code="000013"))

        assert Transfer.objects.get().sender["bank_code"] == "058"

    def test_is_stored_truncated_and_without_card_numbers(self, notify, number):
        many = {f"member-{place}-{'x' * 60}": "y" * 400 for place in range(60)}

        answer = notify(notification(number, sender_name="Ada " + orders.GOOD_CARD, **many))

        transfer = Transfer.objects.get()
        assert answer.status_code == 200
        assert len(transfer.extra_members) == 20
        assert max(map(len, transfer.extra_members)) == 40
        assert max(map(len, transfer.extra_members.values())) == 255
        assert orders.GOOD_CARD not in transfer.sender_name

    def test_in_invalid_json_is_accepted(self, subtests, notify, number):
        bodies = [
            b'{"narration": "\xe9", %s}',
            b'{"narration": "\\ud83d", %s}',
            b'{"\\udc00": 1, %s}',
            b'{"narration": "a\x00\nb", %s}',
            b'{"narration": "a", "narration": "b", %s}',
            b'{"narration": NaN, "rate": 1e999999999999999999999, %s}',
            b'{"balance": ' + b"9" * 6_000 + b", %s}",
            b'{"deep": ' + b"[" * 400 + b"]" * 400 + b", %s}",
            b'{"deep": ' + b"[" * 30_000 + b"]" * 30_000 + b", %s}",
            b'{"deep": ' + b'{"\\"{[": [' * 4_000 + b"0" + b"]}" * 4_000 + b', "}": "]", %s}',
            b"\xef\xbb\xbf{%s}",
        ]
        for place, body in enumerate(bodies):
            fields = json.dumps(notification(number, bank_reference=f"nip-{place}"))[1:-1].encode()
            with subtests.test(ascii(body[:24])):
                assert notify(body % fields).status_code == 200
                assert Transfer.objects.count() == place + 1

    def test_is_stored_in_linear_time(self, notify, number):
        """Regression: searching 60 KB of single digits for card numbers took 1.7 s."""
        began = time.process_time()
        answer = notify(notification(number, narration="1 " * 15_000, colour="1-" * 15_000))

        assert answer.status_code == 200
        assert time.process_time() - began < 0.5

    def test_is_accepted_in_any_notation(self, notify, number):
        answer = notify(notification(number), Accept="text/xml")

        assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")


class TestAmount:
    @pytest.mark.parametrize("amount", [10**12 + 1, 10**15 + 1, LARGEST_ENTRY])
    def test_of_any_size_pays_the_account(self, notify, api, number, amount):
        make_endpoint(business=ApiKey.objects.get(public_id=api.credentials.api_key).business)

        answer = notify(notification(number, amount=amount))

        assert (answer.status_code, answer.json()["applied"]) == (200, "new_payment")
        assert api.get("/api/payments").json()["data"][0]["amount"] == amount
        assert f'"amount":{amount},' in Delivery.objects.get().body  # which the OpenAPI document describes

    @pytest.mark.parametrize("amount", [LARGEST_ENTRY + 1, 2**63 - 1])
    def test_beyond_the_ledger_is_recorded_for_operators(self, notify, number, amount):
        answers = [notify(notification(number, amount=amount)).json() for _ in range(2)]

        assert [answer["replayed"] for answer in answers] == [False, True]
        assert answers[0]["reason"] == "amount_too_large"
        assert UnclaimedTransfer.objects.get().amount == amount
        assert not Transfer.objects.exists()


class TestNumberWithoutAnAccount:
    def test_is_recorded_for_operators(self, notify):
        transfer = notification("0123456789", sender_name="Bisi Ojo", sender_bank_code="058", colour="green")

        answer = notify(transfer)

        kept = UnclaimedTransfer.objects.get()
        assert (answer.status_code, answer.json()) == (
            200,
            {
                "bank_reference": "nip-1",
                "applied": "unclaimed",
                "reason": "unknown_account",
                "replayed": False,
            },
        )
        assert (kept.account_number, kept.amount, kept.currency) == ("0123456789", 50_000, "NGN")
        assert kept.extra_members == {"sender_bank_code": "058", "colour": "green"}
        assert kept.is_open

    def test_that_is_in_the_pool_is_recorded_for_operators(self, notify, number):
        in_the_pool = AccountNumber.objects.filter(last_holder=None).first()

        assert notify(notification(in_the_pool.pk)).json()["applied"] == "unclaimed"

    def test_that_is_repeated_is_recorded_once(self, notify):
        answers = [notify(notification("0123456789")).json() for _ in range(2)]

        assert [answer["replayed"] for answer in answers] == [False, True]
        assert UnclaimedTransfer.objects.count() == 1

    def test_that_is_repeated_after_the_number_was_assigned_is_unchanged(self, notify, number):
        in_the_pool = AccountNumber.objects.filter(last_holder=None).first()
        notify(notification(in_the_pool.pk))
        taken = AccountNumber.objects.get(pk=number)
        AccountNumber.objects.filter(pk=in_the_pool.pk).update(last_holder=taken.last_holder)

        answer = notify(notification(in_the_pool.pk))

        assert (answer.json()["applied"], answer.json()["replayed"]) == ("unclaimed", True)
        assert not Transfer.objects.exists()

    @pytest.mark.parametrize("change", [{"amount": 1}, {"currency": "USD"}, {"account_number": "0123456780"}])
    def test_with_a_used_reference_is_a_conflict(self, notify, change):
        notify(notification("0123456789"))

        answer = notify(notification("0123456789") | change)

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert {kept.why for kept in UnclaimedTransfer.objects.all()} == {"unknown_account", "conflict"}

    def test_with_the_reference_of_a_transfer_is_a_conflict(self, notify, number):
        notify(notification(number))

        answer = notify(notification("0123456789"))

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert UnclaimedTransfer.objects.get().why == "conflict"


def test_money_for_another_business_arrives_there(notify, number, other_api):
    """Notifications contain an account number but no business, because each number belongs to one
    business.
    """
    theirs = other_api.post("/api/virtual-accounts", orders.static_account()).json()

    notify(notification(theirs["customer"]["account_number"]))

    assert Transfer.objects.get().account.reference == theirs["reference"]
    assert len(other_api.get("/api/payments").json()["data"]) == 1


def test_currency_of_no_business_is_unapplied(notify, number):
    answer = notify(notification(number, currency="KWD"))

    assert (answer.json()["applied"], answer.json()["reason"]) == ("unapplied", "other_currency")
    assert UnappliedMoney.objects.get().currency == "KWD"
