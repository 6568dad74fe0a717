"""What our connector sends."""

import base64
import uuid

import pytest

from payments.rails.protocol import AnswerLost, Payer, RailBlocked, ThreeDSecure
from tests.connectors.checkout import published
from tests.connectors.checkout.connecting import (
    GOOD_CARD,
    RETURN_URL,
    SECURE,
    card,
    connected,
    operation,
    order,
)

AMEX = "345678901234564"


@pytest.fixture
def connection(settings, simulator):
    return connected(settings, simulator)


def sent_for(connection, made=None, **more):
    acquirer, transport = connection
    acquirer.authorise(made or order(), card=card(**more))
    return transport.sent[0][2]


class TestPayment:
    def test_says_all_that_their_defaults_decide_otherwise(self, connection):
        made = order(capture=False)

        body = sent_for(connection, made)

        assert body["capture"] is False
        assert body["source"] == {
            "type": "card",
            "number": GOOD_CARD,
            "expiry_month": 12,
            "expiry_year": 2030,
            "name": "Ada Obi",
            "cvv": "100",
            "store_for_future_use": False,
        }
        assert body["3ds"] == {
            "enabled": False,
            "attempt_n3d": False,
            "allow_upgrade": False,
            "challenge_indicator": "no_preference",
        }
        assert (body["amount"], body["currency"]) == (10_000, "NGN")
        assert body["success_url"] == body["failure_url"] == RETURN_URL
        assert body["processing_channel_id"] == connection[0].account.removeprefix("checkout:")
        assert body["billing_descriptor"] == {"name": "Ada Books", "city": "Lagos"}
        assert body.keys() == {
            "amount", "currency", "capture", "source", "3ds", "reference", "success_url", "failure_url",
            "processing_channel_id", "billing_descriptor",
        }  # fmt: skip

    @pytest.mark.parametrize("number", [GOOD_CARD, AMEX])
    def test_reference_is_our_id_in_a_length_that_american_express_takes(self, connection, number):
        made = order()

        reference = sent_for(connection, made, number=number)["reference"]

        assert len(reference) == 26
        assert uuid.UUID(bytes=base64.b32decode(reference + "======")) == made.id

    def test_idempotency_key_is_our_id(self, connection):
        made = order()

        sent_for(connection, made)

        assert connection[1].sent[0][3]["Cko-Idempotency-Key"] == str(made.id)

    @pytest.mark.parametrize(
        ("preference", "indicator"),
        [
            ("no_preference", "no_preference"),
            ("no_challenge", "no_challenge_requested"),
            ("challenge_preferred", "challenge_requested"),
            ("challenge_mandated", "challenge_requested_mandate"),
        ],
    )
    def test_3d_secure_is_as_the_merchant_wishes(self, connection, preference, indicator):
        wish = ThreeDSecure(enabled=True, challenge_preference=preference)

        body = sent_for(connection, order(three_ds=wish))

        assert body["3ds"] == {
            "enabled": True,
            "attempt_n3d": False,
            "allow_upgrade": True,
            "challenge_indicator": indicator,
        }

    def test_payer_on_our_page_may_be_asked_although_3d_secure_is_off(self, connection):
        body = sent_for(connection, order(is_on_our_page=True))

        assert (body["3ds"]["enabled"], body["3ds"]["allow_upgrade"]) == (False, True)

    def test_has_the_payer_and_the_billing_address_as_they_take_them(self, connection):
        payer = Payer(name="Ada Obi", email="ada@example.com", ip_address="203.0.113.9")
        address = {
            "address_line1": "12 Marina", "city": "Lagos", "state": "Lagos State", "postal_code": "101241",
            "country": "NGA",
        }  # fmt: skip

        body = sent_for(connection, order(payer=payer), address=address)

        assert body["customer"] == {"email": "ada@example.com", "name": "Ada Obi"}
        assert body["payment_ip"] == "203.0.113.9"
        assert body["source"]["billing_address"] == {
            "address_line1": "12 Marina", "city": "Lagos", "zip": "101241", "country": "NG",
        }  # fmt: skip

    def test_address_without_a_country_is_in_that_of_the_business(self, settings, simulator):
        settings.CHECKOUT_COUNTRY = "GH"
        acquirer, transport = connected(settings, simulator)

        acquirer.authorise(order(), card=card(address={"city": "Accra"}))
        acquirer.authorise(order(), card=card())

        with_address, without = (body["source"] for _, _, body, _ in transport.sent)
        assert with_address["billing_address"] == {"city": "Accra", "country": "GH"}
        assert "billing_address" not in without

    @pytest.mark.parametrize(
        ("payer", "member"),
        [(Payer(name="Ada Obi"), "customer"), (Payer(ip_address="2001:db8::1"), "payment_ip")],
    )
    def test_leaves_out_what_they_would_refuse(self, connection, payer, member):
        assert member not in sent_for(connection, order(payer=payer))

    def test_descriptor_is_cut_to_their_lengths(self, settings, simulator):
        connection = connected(settings, simulator, CITY="Port Harcourt City")

        body = sent_for(connection, order(descriptor="A" * 30))

        assert body["billing_descriptor"] == {"name": "A" * 25, "city": "Port Harcourt"}

    def test_card_check_has_amount_0_and_no_capture(self, connection):
        acquirer, transport = connection

        acquirer.verify(order(amount=0), card=card())

        body = transport.sent[0][2]
        assert (body["amount"], "capture" in body) == (0, False)


class TestOperations:
    def sent_for(self, connection, asked):
        acquirer, transport = connection
        made = order(acquirer_reference="pay_aaaaaaaaaaaaaaaaaaaaaaaaaa")
        with pytest.raises(AnswerLost):  # the simulator doesn't know the payment
            acquirer.operate(made, asked)
        _, path, body, headers = transport.sent[0]
        return path, body, headers["Cko-Idempotency-Key"]

    @pytest.mark.parametrize(
        ("kind", "call", "more"),
        [
            ("capture", "captures", {"amount": 400, "capture_type": "Final"}),
            ("refund", "refunds", {"amount": 400}),
            ("void", "voids", {}),
        ],
    )
    def test_have_our_operation_as_reference_and_key(self, connection, kind, call, more):
        asked = operation(kind, 400)

        path, body, key = self.sent_for(connection, asked)

        assert path == f"/payments/pay_aaaaaaaaaaaaaaaaaaaaaaaaaa/{call}"
        assert uuid.UUID(bytes=base64.b32decode(body.pop("reference") + "======")) == asked.id
        assert body == more
        assert key == str(asked.id)


def test_every_request_is_valid_against_the_published_document(settings, simulator):
    published.require_document()
    acquirer, transport = connected(settings, simulator)
    full = order(
        three_ds=SECURE,
        payer=Payer(name="Ada Obi", email="ada@example.com", ip_address="203.0.113.9"),
        is_on_our_page=True,
    )
    address = {"address_line1": "12 Marina", "city": "Lagos", "state": "LA", "country": "NGA"}
    acquirer.authorise(order(), card=card())
    acquirer.authorise(full, card=card(address=address))
    acquirer.authorise(order(), card=card(AMEX))
    acquirer.verify(order(amount=0), card=card())
    acquirer.open_page(full)
    for kind in ("capture", "void", "refund"):
        made = order(capture=kind == "refund")
        paid = acquirer.authorise(made, card=card())
        simulator.clock.advance(2)
        acquirer.operate(
            order(id=made.id, acquirer_reference=paid.acquirer_reference), operation(kind, 5_000)
        )

    complaints = []
    for method, path, body, _ in transport.sent:
        if method == "POST":
            parts = path.strip("/").split("/")
            template = path if len(parts) == 1 else f"/payments/{{id}}/{parts[2]}"
            complaints += published.complaints(body, published.request_schema("post", template))

    assert complaints == []
    assert len([each for each in transport.sent if each[0] == "POST"]) == 11


def test_refused_key_is_never_in_the_message(settings, simulator):
    acquirer, _ = connected(settings, simulator)
    simulator.plan.add("error 401")

    with pytest.raises(RailBlocked) as blocked:
        acquirer.authorise(order(), card=card())

    assert settings.CHECKOUT_SECRET_KEY not in str(blocked.value)
