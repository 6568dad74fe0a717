"""What providers send: authentic events are stored once, everything else costs nothing."""

import hmac
import json
import logging

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from prometheus_client import REGISTRY

from connectors.models import ProviderEvent
from connectors.services import event_storage
from kit.files.bounded_json import MAX_DEPTH
from tests.connectors.provider_webhooks import (
    CHECKOUT,
    CHECKOUT_KEY,
    PAYSTACK,
    PAYSTACK_KEY,
    checkout_event,
    paystack_event,
    raw,
    send,
)
from tests.racing import racers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("providers"), pytest.mark.servers]

NUMBER = "4084084084084081"


def counted(provider, result):
    return REGISTRY.get_sample_value(
        "sluice_provider_webhooks_total", {"provider": provider, "result": result}
    )


class TestSignature:
    @pytest.mark.parametrize(
        ("path", "document"), [(CHECKOUT, checkout_event()), (PAYSTACK, paystack_event())]
    )
    def test_event_with_the_providers_signature_is_stored(self, client, path, document):
        answer = send(client, path, document)

        assert (answer.status_code, answer.json()) == (200, {"received": True})
        assert ProviderEvent.objects.get().kind in {"payment_approved", "transfer.success"}

    @pytest.mark.parametrize(
        ("path", "document"), [(CHECKOUT, checkout_event()), (PAYSTACK, paystack_event())]
    )
    def test_event_with_another_key_is_refused_and_only_counted(self, client, path, document):
        provider = path.rpartition("/")[2]
        before = counted(provider, "invalid_signature") or 0

        answer = send(client, path, document, key="a-key-of-somebody-else")

        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_signature")
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert not ProviderEvent.objects.exists()
        assert counted(provider, "invalid_signature") == before + 1

    @pytest.mark.parametrize("path", [CHECKOUT, PAYSTACK])
    def test_event_without_a_signature_is_refused(self, client, path):
        answer = client.post(path, raw(paystack_event()), content_type="application/json")

        assert (answer.status_code, answer.json()["code"]) == (401, "missing_header")
        assert not ProviderEvent.objects.exists()

    @pytest.mark.parametrize("signature", ["", "é" * 64, "0" * 63, "0" * 5000, "a,b"])
    def test_signature_of_any_form_is_refused(self, client, signature):
        sent = {"Cko-Signature": signature}

        assert client.post(CHECKOUT, b"{}", content_type="application/json", headers=sent).status_code == 401

    def test_signature_covers_the_raw_body(self, client):
        body = raw(checkout_event())
        signed = hmac.digest(CHECKOUT_KEY.encode(), body, "sha256").hex()

        answer = client.post(
            CHECKOUT, body + b" ", content_type="application/json", headers={"Cko-Signature": signed}
        )

        assert answer.status_code == 401

    @pytest.mark.parametrize("key", ["a-former-key-of-it", "the-present-key-of-it"])
    def test_former_key_is_valid_during_a_rotation(self, client, settings, key):
        settings.CHECKOUT_WEBHOOK_KEYS = ["the-present-key-of-it", "a-former-key-of-it"]

        assert send(client, CHECKOUT, checkout_event(), key=key).status_code == 200

    def test_former_secret_key_of_paystack_is_valid_during_a_rotation(self, client, settings):
        settings.PAYSTACK_WEBHOOK_KEYS = ["sk_live_former-secret"]

        for key in (PAYSTACK_KEY, "sk_live_former-secret"):
            assert send(client, PAYSTACK, paystack_event(), key=key).status_code == 200

    def test_key_that_was_rotated_out_is_refused(self, client, settings):
        settings.CHECKOUT_WEBHOOK_KEYS = ["the-present-key-of-it"]

        assert send(client, CHECKOUT, checkout_event()).status_code == 401

    @pytest.mark.parametrize("headers", [{}, {"Cko-Signature": "0" * 64}])
    def test_forged_event_costs_no_statement(self, client, headers):
        with CaptureQueriesContext(connection) as statements:
            answer = client.post(
                CHECKOUT, raw(checkout_event()), content_type="application/json", headers=headers
            )

        assert answer.status_code == 401
        assert len(statements) == 0


class TestAddress:
    @pytest.mark.parametrize("path", ["/connectors/stripe", "/connectors/CHECKOUT", "/connectors/%00"])
    def test_unknown_provider_is_not_found(self, client, path):
        answer = client.post(path, b"{}", content_type="application/json")

        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

    @pytest.mark.parametrize("path", [CHECKOUT, PAYSTACK])
    def test_provider_without_a_key_is_not_found(self, client, settings, path):
        settings.CHECKOUT_WEBHOOK_KEYS, settings.PAYSTACK_SECRET_KEY = [], ""

        assert send(client, path, checkout_event()).status_code == 404

    @pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
    def test_other_methods_are_not_allowed(self, client, method):
        answer = getattr(client, method)(CHECKOUT)

        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
        assert answer.headers["Content-Type"] == "application/problem+json"

    def test_needs_no_session_and_sets_no_cookie(self, client):
        client.handler.enforce_csrf_checks = True

        answer = send(client, CHECKOUT, checkout_event())

        assert answer.status_code == 200
        assert not answer.cookies

    @pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "text/plain", ""])
    def test_media_type_does_not_matter(self, client, content_type):
        body = raw(checkout_event())
        signed = hmac.digest(CHECKOUT_KEY.encode(), body, "sha256").hex()

        answer = client.generic(
            "POST", CHECKOUT, body, content_type=content_type, headers={"Cko-Signature": signed}
        )

        assert answer.status_code == 200

    def test_unavailable_database_is_503_so_that_the_provider_repeats(self, client, monkeypatch):
        def fail(*_arguments, **_options):
            raise OperationalError("connection to server was lost: 10.0.0.7")

        monkeypatch.setattr(event_storage, "insert_if_absent", fail)

        answer = send(client, CHECKOUT, checkout_event())

        assert (answer.status_code, answer.json()["code"]) == (503, "temporarily_unavailable")


class TestBody:
    def test_body_of_64_kib_is_stored(self, client):
        document = checkout_event(padding="")
        document["data"]["padding"] = "x" * (64 * 1024 - len(raw(document)))

        assert send(client, CHECKOUT, document).status_code == 200

    def test_larger_body_is_refused(self, client):
        answer = send(client, CHECKOUT, b" " * (64 * 1024 + 1))

        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")

    @pytest.mark.parametrize(
        "body", [b"", b"\xff\xfe", b"null", b"[1]", b'"x"', b'{"id": ', b"<xml/>", b"{" * 9000]
    )
    def test_authentic_body_that_is_no_object_is_refused(self, client, body):
        answer = send(client, CHECKOUT, body)

        assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")
        assert not ProviderEvent.objects.exists()

    def test_deep_object_is_stored_without_its_depths(self, client):
        deep = json.dumps(checkout_event(deep=0)).replace('"deep": 0', f'"deep": {"[" * 9000}{"]" * 9000}')

        assert send(client, CHECKOUT, deep.encode()).status_code == 200

        assert bytes(ProviderEvent.objects.get().body).count(b"[") <= MAX_DEPTH

    @pytest.mark.parametrize(
        "body",
        [
            b"{}",
            b'{"data": 7, "id": ["evt"], "type": {"a": 1}, "event": null}',
            b'{"type": "a\\u0000b", "event": "a\\u0000b", "data": {"reference": "\\ud800", "domain": []}}',
            b'{"type": "' + b"x" * 5000 + b'", "data": {"reference": "' + b"y" * 5000 + b'", "n": NaN}}',
            b'{"data": {"amount": ' + b"9" * 5000 + b', "x": 1e999999999}, "type": true}',
        ],
    )
    @pytest.mark.parametrize("path", [CHECKOUT, PAYSTACK])
    def test_members_of_any_form_are_stored(self, client, path, body):
        assert send(client, path, body).status_code == 200

        assert json.loads(bytes(ProviderEvent.objects.get().body)) is not None

    @pytest.mark.parametrize(
        ("key", "domain"), [(PAYSTACK_KEY, "test"), ("sk_test_of-this-installation", "live")]
    )
    def test_event_of_the_other_environment_is_refused(self, client, settings, key, domain):
        settings.PAYSTACK_SECRET_KEY = key

        answer = send(client, PAYSTACK, paystack_event(domain=domain), key=key)

        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
        assert not ProviderEvent.objects.exists()

    def test_event_that_names_no_environment_is_stored(self, client):
        assert send(client, PAYSTACK, {"event": "invoice.create", "data": {}}).status_code == 200


class TestRepetition:
    @pytest.mark.parametrize("path", [CHECKOUT, PAYSTACK])
    def test_repeated_event_is_stored_once(self, client, path):
        document = checkout_event() if path == CHECKOUT else paystack_event()

        for _ in range(3):
            assert send(client, path, document).status_code == 200

        event = ProviderEvent.objects.get()
        assert event.times_received == 3
        assert event.last_received_at > event.received_at

    def test_events_with_equal_ids_are_one_although_their_bodies_differ(self, client):
        for amount in (1, 2):
            send(client, CHECKOUT, checkout_event(amount=amount))

        assert ProviderEvent.objects.count() == 1

    def test_id_of_an_unknown_form_is_not_trusted(self, client):
        for amount in (1, 2):
            send(client, CHECKOUT, checkout_event(event_id="1", amount=amount))

        assert ProviderEvent.objects.count() == 2

    def test_new_event_is_one_statement(self, client):
        send(
            client, CHECKOUT, checkout_event(event_id="evt_aaaaaaaaaaaaaaaaaaaaaaaaaa")
        )  # measures the clock

        with CaptureQueriesContext(connection) as statements:
            send(client, CHECKOUT, checkout_event())

        assert [each["sql"].split()[0] for each in statements] == ["INSERT"]


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_events_that_arrive_at_once_are_stored_once(client):
    with racers(8) as running:
        answers = running.race(*[lambda: send(client, CHECKOUT, checkout_event()).status_code] * 8)

    assert answers == [200] * 8
    assert ProviderEvent.objects.get().times_received == 8


class TestCanary:
    CARD = {
        "number": NUMBER,
        "pan": int(NUMBER),
        "name": "Ada Obi",
        "metadata": {"card": NUMBER},
        "customer": {"email": "ada@example.com", "phone": "+2348031230007"},
        "note_to_staff": f"card {NUMBER[:4]} {NUMBER[4:8]} {NUMBER[8:12]} {NUMBER[12:]}",
        NUMBER: [NUMBER],
    }

    @pytest.mark.parametrize("path", [CHECKOUT, PAYSTACK])
    def test_card_numbers_and_keys_reach_no_row_and_no_log(self, client, path, caplog, capfd):
        caplog.set_level(logging.DEBUG)
        document = (
            checkout_event(NUMBER, reference=NUMBER, processing_channel_id=NUMBER, **self.CARD)
            if path == CHECKOUT
            else paystack_event(NUMBER, reference=NUMBER, integration=int(NUMBER), **self.CARD)
        )

        answer = send(client, path, document)
        refused = send(client, path, document, key="another-key-than-ours")

        event = ProviderEvent.objects.get()
        written = " ".join(str(getattr(event, field.attname)) for field in event._meta.concrete_fields)
        seen = written + bytes(event.body).decode() + caplog.text + "".join(capfd.readouterr())
        seen += answer.content.decode() + refused.content.decode()
        for canary in (
            NUMBER,
            "4084 0840",
            CHECKOUT_KEY,
            PAYSTACK_KEY,
            "ada@example.com",
            "Ada Obi",
            "803123",
        ):
            assert canary not in seen

    def test_signature_is_not_stored(self, client):
        document = paystack_event("charge.success", authorization={"signature": "SIG_1340", "bin": "408408"})
        send(client, PAYSTACK, document)

        event = ProviderEvent.objects.get()
        assert b"SIG_1340" not in bytes(event.body)
        assert json.loads(bytes(event.body))["data"]["authorization"] == "hidden"
