"""ISO 8583 messages, each compared with its fields as an analyst would read them."""

import uuid
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments.rails.iso8583 import messages
from payments.rails.iso8583.answers import outcome_of
from payments.rails.iso8583.messages import SECRET_FIELDS, Acceptor, Message, answer_to
from payments.rails.iso8583.wire import InvalidFrame, UnencodableField, frame, unpack, without_secrets
from payments.rails.protocol import CardOrder, OperationOrder, ThreeDSecure
from payments.rules.cards import Card, CardSecret

NUMBER, CVV = "5399838383838381", "826"

ACCEPTOR = Acceptor(
    terminal_id="TERM01",
    merchant_id="MERCHANT01",
    category_code="5999",
    country="566",
    institution_id="628051",
    place="LAGOS NG",
)
CARD = Card(
    secret=CardSecret(number=NUMBER, cvv=CVV),
    brand="MASTERCARD",
    bin=NUMBER[:6],
    last4=NUMBER[-4:],
    name="Ada Obi",
    expiry_month="09",
    expiry_year="2031",
)


def card_order(**changes):
    return CardOrder(
        **{
            "id": uuid.UUID(int=1),
            "amount": 123_456,
            "currency": "NGN",
            "captures_at_once": True,
            "three_ds": ThreeDSecure(),
            "has_passed_challenge": False,
            "card_bin": NUMBER[:6],
            "card_last4": NUMBER[-4:],
            "card_expiry_month": "09",
            "card_expiry_year": "2031",
            "system_trace_audit_number": "000042",
            "retrieval_reference_number": "632523000042",
            "authorization_code": "",
            "descriptor": "Ada Books",
            "created_at": datetime(2026, 11, 21, 23, 30, 59, tzinfo=UTC),
        }
        | changes
    )


def operation(kind, amount=100_000):
    return OperationOrder(
        id=uuid.UUID(int=2),
        kind=kind,
        amount=amount,
        system_trace_audit_number="000077",
        retrieval_reference_number="632609000077",
        created_at=datetime(2026, 11, 22, 9, 15, tzinfo=UTC),
    )


# Fields of every message about the order. Local time is an hour ahead of UTC, and here on the next day.
OF_THE_ORDER = {
    7: "1121233059",
    11: "000042",
    12: "003059",
    13: "1122",
    18: "5999",
    19: "566",
    32: "628051",
    37: "632523000042",
    41: "TERM01  ",
    42: "MERCHANT01     ",
    49: "566",
}
OF_THE_OPERATION = OF_THE_ORDER | {
    7: "1122091500",
    11: "000077",
    12: "101500",
    13: "1122",
    37: "632609000077",
}
ORIGINAL_PURCHASE = "020000004211212330590000062805100000000000"
ORIGINAL_AUTHORISATION = "010000004211212330590000062805100000000000"


class TestMessages:
    def test_purchase(self):
        message = messages.authorisation(card_order(), card=CARD, acceptor=ACCEPTOR)

        assert message.type == "0200"
        assert message.fields == OF_THE_ORDER | {
            2: NUMBER,
            3: "000000",
            4: "000000123456",
            14: "3109",
            22: "012",
            25: "59",
            43: "Ada Books                LAGOS        NG",
            48: "9203826",
        }

    def test_authorisation(self):
        message = messages.authorisation(card_order(captures_at_once=False), card=CARD, acceptor=ACCEPTOR)

        assert (message.type, message.fields[4], message.fields[25]) == ("0100", "000000123456", "59")

    def test_card_check(self):
        message = messages.authorisation(card_order(amount=0), card=CARD, acceptor=ACCEPTOR)

        assert (message.type, message.fields[4], message.fields[25]) == ("0100", "000000000000", "51")

    @pytest.mark.parametrize(("is_repeat", "kind"), [(False, "0220"), (True, "0221")])
    def test_capture(self, is_repeat, kind):
        order = card_order(captures_at_once=False, authorization_code="A1B2")

        message = messages.completion(order, operation("capture"), acceptor=ACCEPTOR, is_repeat=is_repeat)

        assert message.type == kind
        assert message.fields == OF_THE_OPERATION | {
            3: "000000",
            4: "000000100000",
            38: "A1B2  ",
            90: ORIGINAL_AUTHORISATION,
        }

    @pytest.mark.parametrize(("is_repeat", "kind"), [(False, "0200"), (True, "0201")])
    def test_refund(self, is_repeat, kind):
        message = messages.refund(card_order(), operation("refund"), acceptor=ACCEPTOR, is_repeat=is_repeat)

        assert message.type == kind
        assert message.fields == OF_THE_OPERATION | {3: "200000", 4: "000000100000", 90: ORIGINAL_PURCHASE}

    @pytest.mark.parametrize(("is_repeat", "kind"), [(False, "0400"), (True, "0401")])
    def test_void(self, is_repeat, kind):
        order = card_order(captures_at_once=False)

        message = messages.cancellation(order, operation("void"), acceptor=ACCEPTOR, is_repeat=is_repeat)

        assert message.type == kind
        assert message.fields == OF_THE_OPERATION | {
            3: "000000",
            4: "000000123456",
            39: "17",
            90: ORIGINAL_AUTHORISATION,
        }

    @pytest.mark.parametrize(("is_repeat", "kind"), [(False, "0400"), (True, "0401")])
    def test_reversal_of_an_unanswered_authorisation(self, is_repeat, kind):
        message = messages.reversal(card_order(), acceptor=ACCEPTOR, is_repeat=is_repeat)

        assert message.type == kind
        assert message.fields == OF_THE_ORDER | {
            3: "000000",
            4: "000000123456",
            39: "68",
            90: ORIGINAL_PURCHASE,
        }

    @pytest.mark.parametrize("purpose", ["001", "002", "301"])
    def test_network_management(self, purpose):
        now = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)

        message = messages.network_request(purpose, stan="000001", now=now)

        assert message == Message("0800", {7: "1121090000", 11: "000001", 70: purpose})

    @pytest.mark.parametrize(("currency", "number"), [("NGN", "566"), ("USD", "840"), ("ALL", "008")])
    def test_currency_is_its_number(self, currency, number):
        message = messages.reversal(card_order(currency=currency), acceptor=ACCEPTOR, is_repeat=False)

        assert message.fields[49] == number

    @pytest.mark.parametrize(
        ("kind", "answer"),
        [
            ("0100", "0110"), ("0200", "0210"), ("0201", "0210"), ("0220", "0230"), ("0221", "0230"),
            ("0400", "0410"), ("0401", "0410"), ("0800", "0810"),
        ],
    )  # fmt: skip
    def test_answers_have_the_matching_type(self, kind, answer):
        assert answer_to(Message(kind, {11: "000001"}), "00").type == answer


class TestOnTheWire:
    def test_is_length_type_bitmap_and_fields(self):
        message = Message("0200", {3: "000000", 4: "000000000100", 11: "000042", 41: "TERM01  "})

        # Fields 3, 4, 11 and 41 are bits 3, 4, 11 and 41 from the left.
        expected = (
            b"0200" + bytes.fromhex("3020000000800000") + b"000000" + b"000000000100" + b"000042TERM01  "
        )
        assert frame(message) == len(expected).to_bytes(2) + expected

    def test_variable_fields_have_a_length(self):
        message = Message("0200", {2: NUMBER, 48: "9203826"})

        packed = frame(message)[2:]

        assert packed == b"0200" + bytes.fromhex("4000000000010000") + b"16" + NUMBER.encode() + b"0079203826"

    def test_fields_beyond_64_have_a_second_bitmap(self):
        packed = frame(messages.reversal(card_order(), acceptor=ACCEPTOR, is_repeat=False))[2:]

        first, second = packed[4:12], packed[12:20]
        assert first[0] & 0b1000_0000
        assert second == (1 << (128 - 90)).to_bytes(8)

    @given(
        st.dictionaries(st.sampled_from([3, 4, 11, 37, 39, 41, 49]), st.just(None), min_size=1),
        st.sampled_from(["0100", "0200", "0210", "0400", "0810"]),
    )
    def test_round_trips(self, chosen, kind):
        lengths = {3: 6, 4: 12, 11: 6, 37: 12, 39: 2, 41: 8, 49: 3}
        message = Message(kind, {number: "7" * lengths[number] for number in chosen})

        assert unpack(frame(message)[2:]) == message

    @given(st.binary(max_size=200) | st.binary(max_size=80).map(lambda noise: b"0210" + noise))
    def test_noise_raises_garbage_only(self, noise):
        with suppress(InvalidFrame):
            assert len(unpack(noise).type) == 4

    def test_an_invalid_value_is_named_but_not_shown(self):
        with pytest.raises(UnencodableField) as refused:
            frame(Message("0200", {2: NUMBER * 2}))

        assert "field 2" in str(refused.value)
        assert NUMBER not in repr(refused.value)
        assert refused.value.__cause__ is None
        assert refused.value.__suppress_context__


class TestSecrets:
    def test_are_not_shown(self):
        message = Message("0200", dict.fromkeys(SECRET_FIELDS, NUMBER) | {11: "000042"})

        assert NUMBER not in f"{message} {message!r} {[message]}"
        assert "11=000042" in str(message)
        assert "2=***" in str(message)

    def test_are_removed_from_received_messages(self):
        kept = without_secrets(Message("0210", {2: NUMBER, 35: NUMBER, 48: "9203826", 39: "00"}))

        assert kept.fields == {39: "00"}

    def test_cover_track_pin_and_chip(self):
        assert {2, 14, 35, 45, 48, 52, 55} <= SECRET_FIELDS


class TestMatching:
    QUESTION = Message("0200", {4: "000000000100", 11: "000042", 37: "632523000042", 41: "TERM01  "})

    def test_an_answer_may_repeat_only_its_identifiers(self):
        assert Message("0210", {11: "000042", 37: "632523000042"}).answers(self.QUESTION)

    @pytest.mark.parametrize(
        "answer",
        [
            Message("0210", {11: "000043", 37: "632523000042"}),
            Message("0210", {11: "000042", 37: "632523000043"}),
            Message("0110", {11: "000042", 37: "632523000042"}),
            Message("0410", {11: "000042", 37: "632523000042"}),
            Message("0200", {11: "000042", 37: "632523000042"}),
            Message("0210", {11: "000042", 37: "632523000042", 4: "000000000101"}),
            Message("0210", {11: "000042", 37: "632523000042", 41: "TERM02  "}),
        ],
    )
    def test_any_other_message_is_not_the_answer(self, answer):
        assert not answer.answers(self.QUESTION)


class TestResponseCodes:
    def test_map_to_outcomes(self, subtests):
        for code, ours, advice in [
            ("00", "10000", ""),
            ("05", "20005", "retry"),
            ("14", "20030", "do_not_retry"),
            ("41", "20041", "do_not_retry"),
            ("43", "20043", "do_not_retry"),
            ("51", "20051", "retry"),
            ("54", "20054", "do_not_retry"),
            ("59", "20083", "do_not_retry"),
            ("61", "20030", "retry"),
            ("63", "20030", "retry"),
            ("91", "20030", "retry"),
        ]:
            with subtests.test(code=code, ours=ours):
                outcome = outcome_of(code)

                assert (outcome.code, outcome.gateway_code, outcome.advice) == (ours, code, advice)
