import base64
import hmac
import json
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

import sluice
from sluice import testing, webhooks

VECTOR = json.loads(Path(__file__, "../../../../tests/data/signing_vectors.json").resolve().read_text())[
    "webhook"
]
KEY, BODY = VECTOR["hash_key"], VECTOR["body"].encode()


def test_reproduces_the_vectors():
    assert webhooks.sign(BODY, KEY) == VECTOR["signature"]
    assert webhooks.sign(b"", KEY) == VECTOR["empty_body_signature"]


def test_reads_an_event():
    event = webhooks.parse(BODY, VECTOR["signature"], KEY)

    assert isinstance(event, webhooks.PaymentSucceeded)
    assert event.event_id == "0b8f6a54-7d39-4f1c-9b2e-6c1f0e5a7d21"
    assert event.created_at == datetime(2026, 1, 1, 0, 0, 5, tzinfo=timezone.utc)
    assert event.data["amount"] == 5000
    assert event.raw == BODY


@pytest.mark.parametrize(("name", "kind"), webhooks.KINDS.items())
def test_knows_each_kind(name, kind):
    body = testing.event(name, reference="r-1")

    event = webhooks.parse(body, testing.sign(body, KEY), KEY)

    assert type(event) is kind
    match event:
        case webhooks.Event(event=found, data={"reference": reference}):
            assert (found, reference) == (name, "r-1")


def test_knows_every_kind_that_the_service_sends():
    from webhooks.models import Event  # noqa: PLC0415  (the service; only this test compares them)

    assert webhooks.KINDS.keys() == set(Event.labels)


def test_accepts_kinds_and_fields_that_it_does_not_know():
    body = testing.event("payment.chargeback", colour="green")
    document = json.loads(body) | {"shape": "round"}
    body = json.dumps(document).encode()

    event = webhooks.parse(body, testing.sign(body, KEY), KEY)

    assert isinstance(event, webhooks.UnknownEvent)
    assert event.event == "payment.chargeback"


def test_accepts_any_of_several_keys():
    assert webhooks.parse(BODY, VECTOR["signature"], ["whk_new", KEY]).event_id


@pytest.mark.parametrize("signature", [None, "", "0" * 64, "0" * 63, VECTOR["signature"].upper(), "é" * 64])
def test_refuses_another_signature(signature):
    with pytest.raises(sluice.InvalidSignature):
        webhooks.parse(BODY, signature, KEY)


def test_refuses_another_key_and_another_body():
    for body, keys in [(BODY, "whk_other"), (BODY, ["whk_1", "whk_2"]), (BODY + b"\n", KEY)]:
        with pytest.raises(sluice.InvalidSignature):
            webhooks.parse(body, VECTOR["signature"], keys)


@pytest.mark.parametrize("keys", ["", [], ["", KEY], None])
def test_refuses_an_empty_key(keys):
    with pytest.raises(ValueError, match="empty"):
        webhooks.parse(BODY, VECTOR["signature"], keys)


@pytest.mark.parametrize("body", [BODY.decode(), json.loads(BODY)])
def test_says_that_it_needs_the_raw_bytes(body):
    with pytest.raises(TypeError, match="pass the raw bytes, before anything parses them"):
        webhooks.parse(body, VECTOR["signature"], KEY)


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"1", b'{"event":"payment.success"}', b"\xff"])
def test_tells_a_signed_body_that_is_no_event_from_a_forged_one(body):
    with pytest.raises(sluice.MalformedEvent):
        webhooks.parse(body, webhooks.sign(body, KEY), KEY)


def test_compares_in_constant_time(monkeypatch):
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: compared.append((one, other)) or True)

    webhooks.verify(BODY, "anything", ["whk_1", "whk_2"])

    assert len(compared) == 2


def _standard(body=BODY, *, key=KEY, age=0, message="msg_1"):
    """The headers of Standard Webhooks, written from its specification."""
    timestamp = str(int(time.time()) - age)
    digest = hmac.digest(key.encode(), f"{message}.{timestamp}.".encode() + body, "sha256")
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"Webhook-Id": message, "webhook-timestamp": timestamp, "webhook-signature": signature}


class TestAllHeaders:
    SECRET = "whsec_" + base64.b64encode(KEY.encode()).decode()

    @pytest.mark.parametrize("key", [KEY, SECRET, ["whk_other", SECRET]])
    def test_of_either_scheme_are_accepted_with_either_text_of_the_key(self, key):
        for headers in ({"x-service-signature": VECTOR["signature"]}, _standard()):
            assert webhooks.parse(BODY, headers, key).event_id

    def test_reproduce_the_vector_of_standard_webhooks(self, monkeypatch):
        monkeypatch.setattr(time, "time", lambda: 1_614_265_330.0)
        headers = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }

        webhooks.verify(b'{"test": 2432232314}', headers, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

    def test_are_accepted_by_the_previous_key(self):
        headers = {
            "X-Service-Signature": webhooks.sign(BODY, "whk_new"),
            "X-Service-Signature-Previous": VECTOR["signature"],
        }

        assert webhooks.parse(BODY, headers, KEY).event_id
        assert webhooks.parse(BODY, headers, "whk_new").event_id

    def test_are_accepted_by_any_of_several_signatures(self):
        new, old = _standard(key="whk_new"), _standard()
        both = new | {"webhook-signature": f"v1a,x {new['webhook-signature']} {old['webhook-signature']}"}

        for key in (KEY, "whk_new"):
            webhooks.verify(BODY, both, key)

    @pytest.mark.parametrize(("age", "is_accepted"), [(290, True), (310, False), (-290, True), (-310, False)])
    def test_of_standard_webhooks_are_accepted_for_five_minutes(self, age, is_accepted):
        if is_accepted:
            webhooks.verify(BODY, _standard(age=age), KEY)
        else:
            with pytest.raises(sluice.InvalidSignature, match="more than five minutes"):
                webhooks.verify(BODY, _standard(age=age), KEY)

    @pytest.mark.parametrize(
        "changes",
        [
            {"Webhook-Id": "msg_2"},
            {"webhook-timestamp": str(int(time.time()) + 100)},
            {"webhook-timestamp": "9" * 5000},
            {"webhook-timestamp": "now"},
            {"webhook-signature": ""},
            {"webhook-signature": "v1,"},
            {"webhook-signature": "é"},
            {"webhook-signature": _standard()["webhook-signature"].replace("v1,", "v2,")},
        ],
    )
    def test_that_were_changed_are_refused(self, changes):
        with pytest.raises(sluice.InvalidSignature):
            webhooks.parse(BODY, _standard() | changes, KEY)

    def test_without_a_signature_or_with_another_body_or_key_are_refused(self):
        for body, headers, key in [(BODY, {}, KEY), (b"{}", _standard(), KEY), (BODY, _standard(), "whk_2")]:
            with pytest.raises(sluice.InvalidSignature):
                webhooks.parse(body, headers, key)

    @pytest.mark.parametrize("key", ["whsec_", "whsec_!", "whsec_abc"])
    def test_need_a_complete_secret(self, key):
        with pytest.raises(ValueError, match="is it complete"):
            webhooks.verify(BODY, _standard(), key)


def test_error_holds_neither_key_nor_signature():
    with pytest.raises(sluice.InvalidSignature) as refused:
        webhooks.parse(BODY, "f" * 64, KEY)

    assert KEY not in str(refused.value)
    assert "f" * 64 not in str(refused.value)
