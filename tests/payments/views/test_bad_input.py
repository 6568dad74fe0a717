"""Invalid requests, and valid edge cases: correct code and field, nothing stored, nothing echoed."""

import json

import pytest

from kit.text.masking import passes_luhn
from payments.models import CardOperation, Transaction
from tests import orders

PAYMENTS = "/api/payments"
SECRET = "Zq7-distinctive-Xk9"  # must not appear in the response


def wide(text):
    """Return the text in full-width characters, which are digits in Unicode."""
    return text.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)})


NOT_STRINGS = [None, True, False, 0, 17, 10.5, [], [SECRET], {}, {"value": SECRET}]
NOT_AMOUNTS = [
    None, True, False, "", "1000", SECRET, wide("1000"), [], [1000], {}, {"value": 1000}, 0, -1, -1000, 10.5, 0.1,
    1e-9, 10**12 + 1, 2**63, 2**64, 10**18, 1e13, -0.0, 999_999_999_999.5,
]  # fmt: skip
NOT_OBJECTS = [None, True, 0, 17, 10.5, "", SECRET, [], [{}], [[SECRET]]]
NOT_FLAGS = [None, 0, 1, "true", "false", "yes", "", 1.0, [], {}, SECRET]


def card(**changes):
    return {"source": orders.card_source(**changes)}


def customer(**changes):
    return {"customer": orders._changed(orders.payout()["customer"], changes)}


def payer(**fields):
    return {"customer": fields}


def billing(**fields):
    return card(billing_address=fields)


def cases(field, values, make, request=orders.card_payment):
    """Return one row for each value: the request, the invalid field, the value and the request's changes."""
    return [(request, field, value, make(value)) for value in values]


def top(name, values, request=orders.card_payment):
    return cases(name, values, lambda value: {name.replace("3ds", "three_ds"): value}, request)


def source(name, values, request=orders.card_payment):
    return cases(f"source.{name}", values, lambda value: card(**{name: value}), request)


def beneficiary(name, values):
    return cases(f"customer.{name}", values, lambda value: customer(**{name: value}), orders.payout)


# Characters that make a name look different from its spelling.
CONTROLS = [f"Ada{mark}Obi" for mark in "\x00\n\r\t\x1b\x7f\x85\u061c\u2028\u202d\u202e"]

FIELDS = [
    # The order
    *top("amount", [*NOT_AMOUNTS, ...]),
    *top("amount", [*NOT_AMOUNTS, ...], orders.payout),
    *top("amount", [1, 10.5, "0", True, None, -1, [], 1000], orders.card_check),
    *top("currency", [*NOT_STRINGS, "", "ngn", "NAIRA", "NG", wide("NGN"), "NGN ", "XXA", "566", SECRET, ...]),
    *top("currency", ["EUR", "GBP", "JPY", "XAU"], orders.payout),
    *top("currency", [None, [], {}, 566, "EUR", ...], orders.card_check),
    *top("reference", [*NOT_STRINGS, "", " ", "a b", "a/b", "é", "a\nb", "ref\n", "a\x00", "x" * 101, SECRET + "!", ...]),
    *top("reference", [None, 5, "", "a b", "x" * 101, "٣", ".", ".."], orders.card_check),
    *top("reference", [".", ".."]),
    *top("request_type", [*NOT_STRINGS, "", "PAYMENT", "payments", "refund", SECRET, ...]),
    *top("payment_method", [*NOT_STRINGS, "", "CARD", "cards", "cash", SECRET, ...]),
    *top("narration", [None, True, 5, [], {}, "x" * 256, "a\x00b"]),
    *top("authorization_type", [*NOT_STRINGS, "", "Regular", "pre_auth", SECRET]),
    *top("capture", NOT_FLAGS),
    *top(
        "payment_ip",
        [
            *NOT_STRINGS, "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", wide("1.2.3.4"), "fe80::1%eth0",
            "::1%1", "1.2.3.4/24", "[::1]", "localhost", ":::", "1" * 46, SECRET,
        ],
    ),
    *top(
        "redirect_url",
        [
            *NOT_STRINGS, ..., "", SECRET, "/back", "//shop.example/back", "shop.example/back", "http:///back", "http://",
            "https:shop.example", "ftp://shop.example/", "javascript:alert(1)", "JavaScript://shop.example/%0aalert(1)",
            "data:text/html,x", "file:///etc/passwd", f"https://{SECRET}:pass@shop.example/", "https://user@shop.example/",
            "https://@shop.example/", "https://shop.example\\@evil.example/", "https:\\\\shop.example", "https://shop.example/\n",
            "https://shop.example/\tback", "https://shop.example/a b", "https://shop.example/é", "https://shop.example/\x00",
            "https://shop.example/\x7f", "https://shop.example:99999/", "https://shop.example:port/", "https://[::1/",
            "https://shop.example;script-src/", "https://shop.example,evil.example/", "https://<script>/", "https://%73hop/",
            "https://[fe80::1%25eth0]/", "https://.shop.example/", " https://shop.example/", "https://x/" + "a" * 2040,
        ],
    ),
    # The card
    *top("source", [*NOT_OBJECTS, ...]),
    *source("type", [*NOT_STRINGS, "", "CARD", "bank", SECRET, ...]),
    *source("type", [None, "", "kart", 1], orders.card_check),
    *source(
        "pan",
        [
            *NOT_STRINGS, ..., "", " ", "4084084084084082", "4084-0840-8408-4081", "40840840840", "4" * 20, "0" * 11,
            wide("4084084084084081"), "4084084084084081x", "4084\t084084084081", "4084084084084081\n", "4084.084084084081",
            "+4084084084084081", 4084084084084081, SECRET, " " * 41, "4084084084084081" + " " * 30, "٤" * 16,
        ],
    ),
    *source("name", [*NOT_STRINGS, "", " ", "\t\n", "x" * 101, *CONTROLS, ...]),
    *source("name", CONTROLS, orders.card_check),
    *source("expiry_month", [*NOT_STRINGS, "", "0", "00", "13", "1", "012", "1 ", wide("12"), "Dec", SECRET, ...]),
    *source("expiry_year", [*NOT_STRINGS, "", "35", "203", "20355", wide("2035"), "-203", "MMXX", SECRET, ...]),
    *source("cvv", [*NOT_STRINGS, "", "1", "12", "12345", "12a", wide("123"), " 123", "123\n", "-12", SECRET, ...]),
    *source("billing_address", NOT_OBJECTS),
    *cases("source.billing_address.city", [None, 5, [], {}, "x" * 101], lambda value: billing(city=value)),
    *cases("source.billing_address.country", [None, "", "NG", "nga", "NGAA", "XXX", "ZZZ", wide("NGA"), 566], lambda value: billing(country=value)),
    *cases("source.billing_address.postal_code", [None, 100001, "x" * 21], lambda value: billing(postal_code=value)),
    # 3-D Secure
    *top("3ds", NOT_OBJECTS),
    *cases("3ds.enabled", NOT_FLAGS, lambda value: {"three_ds": {"enabled": value}}),
    *cases(
        "3ds.challenge_preference",
        [*NOT_STRINGS, "", "always", "NO_CHALLENGE", SECRET],
        lambda value: {"three_ds": {"enabled": True, "challenge_preference": value}},
    ),
    # Customers
    *top("customer", NOT_OBJECTS),
    *top("customer", [*NOT_OBJECTS, ...], orders.payout),
    *cases("customer.reference", [None, 5, "", " ", "x" * 101, []], lambda value: payer(reference=value, email="ada@example.com")),
    *cases(
        "customer.email",
        [*NOT_STRINGS, "", "ada", "ada@", "@example.com", "a da@example.com", "ada@exa mple.com", "ada@example.com\n",
         "ada@@example.com", "ada@example..com", "a" * 250 + "@example.com", SECRET],
        lambda value: payer(reference="c-1", email=value),
    ),
    *cases("customer.name", [None, 5, "", " ", "x" * 256, []], lambda value: payer(reference="c-1", email="a@example.com", name=value)),
    *cases("customer.name", CONTROLS, lambda value: payer(reference="c-1", email="a@example.com", name=value)),
    *cases("customer.email", [{"reference": "c-1"}, {"reference": "c-1", "name": "Ada"}], lambda fields: payer(**fields)),
    *cases("customer.reference", [{"email": "ada@example.com"}], lambda fields: payer(**fields)),
    *beneficiary("name", [*NOT_STRINGS, "", " ", "x" * 256, *CONTROLS, ...]),
    *beneficiary("account_number", [*NOT_STRINGS, "", "012345678", "01234567890", "012345678x", wide("0123456789"), " 012345678", 123456789, SECRET, ...]),
    *beneficiary("bank_code", [*NOT_STRINGS, "", "58", "0580", "GTB", "000000", "٠٥٨", "058 ", SECRET, ...]),
    *beneficiary("email", [None, 5, "ada", "ada@"]),
    *beneficiary("reference", [None, 5, "", "x" * 101]),
]  # fmt: skip


def error_of(answer, field):
    """Return the single error of a 400 response for this field."""
    assert answer.status_code == 400, answer.content
    [error] = [error for error in answer.json()["errors"] if error["field"] == field]
    return error


def assert_nothing_stored():
    assert not Transaction.objects.exists()
    assert not CardOperation.objects.exists()


def assert_not_echoed(answer, sent):
    """Longer values are distinctive, and none of them may be echoed."""
    shown = answer.content.decode()
    assert SECRET not in shown
    for value in _strings(sent):
        assert len(value) < 12 or value not in shown


def _strings(sent):
    if isinstance(sent, str):
        yield sent
    elif isinstance(sent, dict | list):
        for below in sent.values() if isinstance(sent, dict) else sent:
            yield from _strings(below)


@pytest.mark.django_db
class TestField:
    @pytest.mark.parametrize("request_of", [orders.card_payment, orders.payout, orders.card_check])
    def test_with_an_invalid_value_is_named(self, subtests, api, settings, request_of):
        settings.RATE_LIMIT_WRITES = 10_000
        for field, value, changes in [row[1:] for row in FIELDS if row[0] is request_of]:
            with subtests.test(field=field, value=value):
                order = request_of(**changes)

                answer = api.post(PAYMENTS, order)

                error = error_of(answer, field)
                assert error["code"] != "unknown_field"
                assert error["message"]
                assert [found["field"] for found in answer.json()["errors"]] == [field]
                assert_not_echoed(answer, order)
        assert_nothing_stored()

    def test_is_named_with_all_other_invalid_fields(self, api):
        order = orders.card_payment(
            amount=0,
            currency="EUR",
            reference="no good",
            capture="no",
            colour="red",
            expiry_duration=60,
            source=orders.card_source(pan="1", cvv="", colour="red"),
            customer={"name": "Ada", "bank_code": "058"},
        )

        answer = api.post(PAYMENTS, order)

        assert {(error["field"], error["code"]) for error in answer.json()["errors"]} == {
            ("amount", "too_small"),
            ("currency", "unsupported_currency"),
            ("reference", "invalid"),
            ("capture", "invalid_type"),
            ("colour", "unknown_field"),
            ("expiry_duration", "not_allowed_here"),
            ("source.pan", "invalid_card_number"),
            ("source.cvv", "invalid_length"),
            ("source.colour", "unknown_field"),
            ("customer.reference", "required"),
            ("customer.email", "required"),
            ("customer.bank_code", "not_allowed_here"),
        }
        assert_nothing_stored()


@pytest.mark.django_db
class TestUnknownKind:
    """If the kind of a request is missing or unknown, the common fields are still validated."""

    WRONG = {"amount": -5, "currency": "naira", "reference": "no good", "narration": 5, "amuont": 1}

    @pytest.mark.parametrize(
        ("kind", "field", "code"),
        [
            ({}, "request_type", "required"),
            ({"request_type": "refund"}, "request_type", "invalid_choice"),
            ({"request_type": ["payment"]}, "request_type", "invalid_type"),
            ({"request_type": "payment"}, "payment_method", "required"),
            ({"request_type": "payment", "payment_method": "cash"}, "payment_method", "invalid_choice"),
            ({"request_type": "payment", "payment_method": None}, "payment_method", "null"),
        ],
    )
    def test_is_named_with_every_invalid_common_field(self, api, kind, field, code):
        answer = api.post(PAYMENTS, self.WRONG | kind)

        assert {(error["field"], error["code"]) for error in answer.json()["errors"]} == {
            (field, code),
            ("amount", "too_small"),
            ("currency", "unsupported_currency"),
            ("reference", "invalid"),
            ("narration", "invalid_type"),
            ("amuont", "unknown_field"),
        }
        assert_nothing_stored()

    def test_is_named_with_every_missing_common_field(self, api):
        answer = api.post(PAYMENTS, {})

        assert {(error["field"], error["code"]) for error in answer.json()["errors"]} == {
            ("request_type", "required"),
            ("reference", "required"),
            ("amount", "required"),
            ("currency", "required"),
        }

    def test_is_named_with_a_currency_that_is_not_enabled(self, api):
        answer = api.post(PAYMENTS, {"currency": "EUR", "reference": "r", "amount": 1})

        assert {error["field"] for error in answer.json()["errors"]} == {"request_type", "currency"}

    def test_of_a_payment_is_named_with_an_invalid_payer(self, api):
        answer = api.post(PAYMENTS, orders.card_payment(payment_method=..., customer={"name": "Ada"}))

        assert {error["field"] for error in answer.json()["errors"]} == {
            "payment_method",
            "customer.reference",
            "customer.email",
        }


@pytest.mark.django_db
class TestNumber:
    """Numbers that Python's own serializer would not produce."""

    def test_is_read_exactly(self, subtests, api):
        for number, code in [
            ("1e400", "too_large"),
            ("1E+13", "too_large"),
            ("-1e400", "too_small"),
            ("1e999999999", "too_large"),
            ("9" * 4000, "too_large"),
            ("1000000000000.0000001", "too_large"),
            ("0." + "0" * 3000 + "1", "too_small"),
            ("1e-400", "too_small"),
            ("-0", "too_small"),
            ("-0.0", "too_small"),
            ("1000.00000000000000000001", "invalid"),
            ("1.5e0", "invalid"),
        ]:
            with subtests.test(number=number, code=code):
                body = json.dumps(orders.payout(amount="@")).replace('"@"', number)

                answer = api.post(PAYMENTS, body.encode())

                assert error_of(answer, "amount")["code"] == code
                assert_nothing_stored()

    @pytest.mark.parametrize("number", ["1000.0", "1e3", "1E3", "10.00e2", "1000000e-3", "1000." + "0" * 500])
    def test_that_is_whole_is_accepted_in_any_notation(self, api, number):
        order = orders.payout(amount=1000)
        api.post(PAYMENTS, order)

        answer = api.post(PAYMENTS, json.dumps(order).replace("1000", number).encode())

        assert (answer.status_code, answer.json()["amount"]) == (200, 1000)
        assert answer.headers["Idempotent-Replayed"] == "true"

    def test_that_is_invalid_json_or_too_long_is_malformed(self, subtests, api):
        for number in ["1" * 5000, "1e99999999999999999999", "-1e-99999999999999999999", "NaN", "Infinity", "-Infinity",
        "01", "+1", "1.", ".5", "0x10", "1_000", "1e", "1,000", "--1", wide("1")]:  # fmt: skip
            with subtests.test(number=number):
                body = json.dumps(orders.payout(amount="@")).replace('"@"', number)

                answer = api.post(PAYMENTS, body.encode())

                assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")
                assert_nothing_stored()


def deep(depth, opening="[", closing="]", inner=""):
    return (opening * depth + inner + closing * depth).encode()


GOOD = json.dumps(orders.payout())
MALFORMED = {
    "nothing but a blank": b" ",
    "half": GOOD[:-5].encode(),
    "trailing comma": GOOD[:-1].encode() + b",}",
    "trailing garbage": GOOD.encode() + b"x",
    "two objects": GOOD.encode() * 2,
    "comment": GOOD[:-1].encode() + b"/* x */}",
    "single quotes": GOOD.replace('"', "'").encode(),
    "form": b"amount=1000&currency=NGN",
    "xml": b"<amount>1000</amount>",
    "byte order mark": b"\xef\xbb\xbf" + GOOD.encode(),
    "utf-16": GOOD.encode("utf-16"),
    "utf-16 without mark": GOOD.encode("utf-16-le"),
    "utf-32": GOOD.encode("utf-32"),
    "latin-1": GOOD.replace("Ada", "Adé").encode("latin-1"),
    "overlong utf-8": GOOD.encode().replace(b"Ada", b"\xc0\xaf"),
    "raw surrogate": GOOD.encode().replace(b"Ada", b"\xed\xa0\x80"),
    "half a pair": GOOD.replace("Ada", "\\ud83d").encode(),
    "pair the wrong way round": GOOD.replace("Ada", "\\ude00\\ud83d").encode(),
    "half a pair in a name": b'{"\\udc00": 1}',
    "raw nul": GOOD.encode().replace(b"Ada", b"A\x00a"),
    "raw line feed in a string": GOOD.encode().replace(b"Ada", b"A\na"),
    "bad escape": GOOD.replace("Ada", "\\x41").encode(),
    "duplicate key": (GOOD[:-1] + ', "amount": 250000}').encode(),
    "duplicate key in spelling": (GOOD[:-1] + ', "\\u0061mount": 1}').encode(),
    "duplicate key below": GOOD.replace('"name":', '"name": "Eve", "name":').encode(),
    "list": b"[" + GOOD.encode() + b"]",
    "string": b'"' + SECRET.encode() + b'"',
    "number": b"17",
    "true": b"true",
    "null": b"null",
    "deep lists": b'{"a":' + deep(20_000) + b"}",
    "deep objects": deep(10_000, '{"a":', "}", "1"),
    "unclosed depth": b"[" * 60_000,
    "binary": bytes(range(256)),
}


@pytest.mark.django_db
class TestBody:
    def test_that_is_malformed_is_rejected(self, subtests, api):
        for body in MALFORMED.values():
            with subtests.test(body=body):
                answer = api.post(PAYMENTS, body)

                assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")
                assert_nothing_stored()
                assert SECRET not in answer.content.decode()

    def test_of_any_depth_is_no_server_error(self, subtests, api):
        for depth in range(860, 1000, 10):
            for inner in ["1", '"\\u0041"']:
                with subtests.test(depth=depth, inner=inner):
                    answer = api.post(PAYMENTS, b'{"a":' + deep(depth, inner=inner) + b"}")

                    assert answer.status_code == 400

    @pytest.mark.parametrize("body", [b"", b"{}"])
    def test_that_is_empty_lacks_its_request_type(self, api, body):
        answer = api.post(PAYMENTS, body)

        assert error_of(answer, "request_type")["code"] == "required"


@pytest.mark.django_db
class TestUnknownField:
    def test_is_rejected_by_name(self, subtests, api):
        for name in ["Amount", "amount ", "amout", "", "id", "status", "__proto__", "é", "a.b", "\x00"]:
            with subtests.test(name=name):
                answer = api.post(PAYMENTS, orders.payout() | {name: SECRET})

                assert error_of(answer, name)["code"] == "unknown_field"
                assert answer.json()["code"] == "unknown_field"
                assert_nothing_stored()
                assert SECRET not in answer.content.decode()

    @pytest.mark.parametrize(
        ("order", "field"),
        [
            (orders.card_payment(**card(iban=SECRET)), "source.iban"),
            (orders.card_payment(**billing(planet=SECRET)), "source.billing_address.planet"),
            (orders.card_payment(three_ds={"version": SECRET}), "3ds.version"),
            (
                orders.card_payment(**payer(reference="c", email="a@example.com", phone=SECRET)),
                "customer.phone",
            ),
            (orders.payout(**customer(iban=SECRET)), "customer.iban"),
            (orders.card_check(**card(type="CARD", iban=SECRET)), "source.iban"),
        ],
    )
    def test_is_rejected_at_every_level(self, api, order, field):
        answer = api.post(PAYMENTS, order)

        assert error_of(answer, field)["code"] == "unknown_field"
        assert_nothing_stored()
        assert SECRET not in answer.content.decode()

    @pytest.mark.parametrize(
        ("order", "suggestion"),
        [
            (orders.payout(amount=..., amuont=1), "amount"),
            (orders.payout(Narration="x"), "narration"),
            (orders.payout(colour="red"), None),
            (orders.payout(amount2=1), None),  # `amount` already exists
            (orders.card_payment(**card(pan=..., pam="4")), None),
            (orders.card_payment(**card(expiry_month=..., expiry_mouth="12")), "expiry_month"),
            (orders.card_payment(three_ds={"enable": True}), "enabled"),
            (orders.payout(**customer(account_number=..., account_no="0123456789")), "account_number"),
            (orders.payout(**{"amuont" * 20: 1}), None),
        ],
    )
    def test_suggests_the_closest_known_field(self, api, order, suggestion):
        errors = api.post(PAYMENTS, order).json()["errors"]

        [unknown] = [error for error in errors if error["code"] == "unknown_field"]
        assert unknown.get("suggestion") == suggestion
        assert unknown["message"] == (
            f"There is no such field; did you mean {suggestion}?" if suggestion else "There is no such field."
        )

    def test_in_large_numbers_gets_few_suggestions(self, api):
        answer = api.post(PAYMENTS, orders.payout(amount=...) | {f"amoun{place}": 1 for place in range(2000)})

        errors = [error for error in answer.json()["errors"] if error["code"] == "unknown_field"]
        assert len(errors) == 2000
        assert sum("suggestion" in error for error in errors) <= 20

    @pytest.mark.parametrize("before", [0, 84, 90, 99])
    def test_named_like_a_card_number_is_masked(self, api, before):
        name = "x" * before + orders.GOOD_CARD

        answer = api.post(PAYMENTS, orders.payout() | {name: 1})

        assert answer.json()["code"] == "unknown_field"
        assert orders.GOOD_CARD[:12] not in answer.content.decode()


ELSEWHERE = {
    "payment_method": "card",
    "payment_method_id": "x",
    "expiry_duration": 60,
    "source": orders.card_source(),
    "three_ds": {"enabled": True},
    "redirect_url": "https://shop.example/back",
    "capture": True,
}


@pytest.mark.django_db
class TestFieldOfAnotherKind:
    def test_is_not_allowed_here(self, subtests, api):
        for request_of, name, value in [
            *[(orders.payout, name, value) for name, value in ELSEWHERE.items()],
            *[
                (orders.card_payment, name, ELSEWHERE[name])
                for name in ("payment_method_id", "expiry_duration")
            ],
            *[
                (orders.card_check, name, value)
                for name, value in ELSEWHERE.items()
                if name not in {"source", "redirect_url"}
            ],
            (orders.card_check, "customer", {"name": "Ada"}),
            (orders.card_check, "narration", "a check"),
            (orders.card_check, "payment_ip", "1.2.3.4"),
            (orders.card_check, "authorization_type", "regular"),
        ]:
            with subtests.test(request_of=request_of, name=name):
                answer = api.post(PAYMENTS, request_of(**{name: value}))

                assert error_of(answer, name.replace("three_ds", "3ds"))["code"] == "not_allowed_here"
                assert answer.json()["code"] == "not_allowed_here"
                assert_nothing_stored()

    @pytest.mark.parametrize("name", ["account_number", "bank_code"])
    def test_is_not_allowed_in_a_payers_block(self, api, name):
        order = orders.card_payment(**payer(reference="c", email="a@example.com", **{name: "058"}))

        assert error_of(api.post(PAYMENTS, order), f"customer.{name}")["code"] == "not_allowed_here"

    def test_is_not_allowed_in_the_source_of_a_check(self, api):
        order = orders.card_check(**card(type="CARD", billing_address={}))

        assert error_of(api.post(PAYMENTS, order), "source.billing_address")["code"] == "not_allowed_here"


@pytest.mark.django_db
class TestList:
    def test_rejects_an_invalid_filter(self, subtests, api):
        for query, field in [
            ("colour=red", "colour"),
            ("Status=success", "Status"),
            ("format=xml", "format"),
            ("page=2", "page"),
            ("status=", "status"),
            ("status=SUCCESS", "status"),
            ("status=done", "status"),
            ("status=success%00", "status"),
            ("status=success&status=failed", "status"),
            ("request_type=refund", "request_type"),
            ("payment_method=cash", "payment_method"),
            ("limit=", "limit"),
            ("limit=0", "limit"),
            ("limit=101", "limit"),
            ("limit=-1", "limit"),
            ("limit=1e1", "limit"),
            ("limit=10.0", "limit"),
            ("limit=%2B5", "limit"),
            ("limit=05", "limit"),
            ("limit=0000001005", "limit"),
            ("limit=0000001009999999999999999999", "limit"),
            ("limit=%D9%A3", "limit"),
            ("limit=ten", "limit"),
            ("limit=5&limit=6", "limit"),
            (f"limit={'9' * 3000}", "limit"),
            ("cursor=", "cursor"),
            ("cursor=x", "cursor"),
            ("cursor=%00", "cursor"),
            ("cursor=!!!", "cursor"),
            ("cursor=cj0x", "cursor"),
            ("cursor=cD1ub3RoaW5n", "cursor"),
            ("cursor=%C3%A9", "cursor"),
            ("created_from=", "created_from"),
            ("created_from=yesterday", "created_from"),
            ("created_from=2026-01-01", "created_from"),
            ("created_from=2026-01-01T00:00:00", "created_from"),
            ("created_from=2026-02-30T00:00:00Z", "created_from"),
            ("created_from=2026-01-01T25:00:00Z", "created_from"),
            ("created_from=2026-01-01T00:00:00+01:00", "created_from"),  # an unescaped plus is a space
            ("created_from=2026-01-01T00:00:00%2B99:99", "created_from"),
            ("created_from=0001-01-01T00:00:00%2B14:00", "created_from"),
            ("created_to=9999-12-31T23:59:59-14:00", "created_to"),
            ("created_to=1767225600", "created_to"),
            ("created_to=0000-01-01T00:00:00Z", "created_to"),
            ("id=", "id"),
            ("id=1", "id"),
            ("id=0b8f6a547d394f1c9b2e6c1f0e5a7d21", "id"),
            ("id=%7B0b8f6a54-7d39-4f1c-9b2e-6c1f0e5a7d21%7D", "id"),
            (f"id={SECRET}", "id"),
        ]:
            with subtests.test(query=query, field=field):
                answer = api.get(f"{PAYMENTS}?{query}")

                error_of(answer, field)
                assert_not_echoed(answer, query.partition("=")[2])

    def test_masks_a_card_number_in_the_name_of_a_repeated_filter(self, api):
        answer = api.get(f"{PAYMENTS}?4084084084084081=1&4084084084084081=2")

        error_of(answer, "408408******4081")
        assert_not_echoed(answer, "4084084084084081")

    def test_suggests_the_closest_filter(self, api):
        answer = api.get(f"{PAYMENTS}?create_from=2026-01-01T00:00:00Z")

        assert error_of(answer, "create_from")["suggestion"] == "created_from"

    def test_rejects_undecodable_input(self, api):
        answer = api.get(f"{PAYMENTS}?status=%FF")

        error_of(answer, "status")

    @pytest.mark.parametrize(
        "query",
        [
            "limit=1", "limit=100", "id=0B8F6A54-7D39-4F1C-9B2E-6C1F0E5A7D21", "created_from=0001-01-01T00:00:00Z",
            "created_to=9999-12-31T23:59:59.999999Z", "created_from=2026-01-01t00:00:00.5z",
            "created_from=2026-01-01T00:00:00%2B01:00&created_to=2026-01-01T00:00:00-11:30",
        ],
    )  # fmt: skip
    def test_accepts_a_valid_filter(self, api, query):
        assert api.get(f"{PAYMENTS}?{query}").status_code == 200


@pytest.mark.django_db
class TestOperation:
    @pytest.fixture
    def authorised(self, api):
        return api.post(PAYMENTS, orders.card_payment(capture=False)).json()["reference"]

    @pytest.fixture
    def captured(self, api):
        return api.post(PAYMENTS, orders.card_payment()).json()["reference"]

    def test_rejects_an_invalid_capture_amount(self, subtests, api, authorised):
        for amount in [value for value in NOT_AMOUNTS if value is not ...]:
            with subtests.test(amount=amount):
                error_of(api.post(f"{PAYMENTS}/{authorised}/capture", {"amount": amount}), "amount")

                assert not CardOperation.objects.exists()

    def test_rejects_an_invalid_refund_amount(self, subtests, api, captured):
        for amount in [value for value in NOT_AMOUNTS if value is not ...]:
            with subtests.test(amount=amount):
                refund = {"reference": "refund-1", "amount": amount}

                error_of(api.post(f"{PAYMENTS}/{captured}/refunds", refund), "amount")

                assert not CardOperation.objects.exists()

    def test_rejects_an_invalid_refund(self, subtests, api, captured):
        for refund, field in [
            ({}, "reference"),
            ({"reference": None}, "reference"),
            ({"reference": ""}, "reference"),
            ({"reference": "no good"}, "reference"),
            ({"reference": "x" * 101}, "reference"),
            ({"reference": 5}, "reference"),
            ({"reference": "refund-1", "reason": None}, "reason"),
            ({"reference": "refund-1", "reason": 5}, "reason"),
            ({"reference": "refund-1", "reason": ["x"]}, "reason"),
            ({"reference": "refund-1", "reason": "x" * 256}, "reason"),
            ({"reference": "refund-1", "reason": "a\x00"}, "reason"),
            ({"reference": "refund-1", "currency": []}, "currency"),
            ({"reference": "refund-1", "colour": SECRET}, "colour"),
        ]:
            with subtests.test(refund=refund, field=field):
                answer = api.post(f"{PAYMENTS}/{captured}/refunds", refund)

                error_of(answer, field)
                assert not CardOperation.objects.exists()
                assert SECRET not in answer.content.decode()

    def test_rejects_a_malformed_body(self, subtests, api, authorised):
        for action in ["capture", "void", "refunds"]:
            for body in [b"[]", b"null", b"x", b'{"a":1,"a":1}', b"\xff"]:
                with subtests.test(action=action, body=body):
                    answer = api.post(f"{PAYMENTS}/{authorised}/{action}", body)

                    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")
                    assert not CardOperation.objects.exists()

    @pytest.mark.parametrize("name", ["amount", "reason", "colour"])
    def test_void_accepts_no_fields(self, api, authorised, name):
        answer = api.post(f"{PAYMENTS}/{authorised}/void", {name: 1})

        assert error_of(answer, name)["code"] == "unknown_field"

    def test_with_an_unusual_reference_finds_nothing(self, subtests, api):
        for reference in [
            "%00",
            "%0A",
            "%FF",
            "..",
            "%2E%2E",
            "a%2Fb",
            "%F0%9F%98%80",
            "'--",
            "x" * 3000,
            "*",
        ]:
            for action in ["", "/capture", "/void", "/refunds"]:
                with subtests.test(reference=reference, action=action):
                    answer = api.send(
                        "POST" if action else "GET",
                        f"{PAYMENTS}/{reference}{action}",
                        b'{"reference":"r"}' * bool(action),
                    )

                    # The test client may spell a URL differently from the signed one.
                    assert answer.status_code in {400, 401, 404}


def luhn(prefix, length):
    """Return a number of this length with its check digit."""
    body = prefix + "0" * (length - len(prefix) - 1)
    return next(body + digit for digit in "0123456789" if passes_luhn(body + digit))


BRANDS = [
    ("VERVE", luhn("506099", 19)),
    ("VERVE", luhn("650002", 16)),
    ("VISA", luhn("4", 13)),
    ("VISA", luhn("4", 16)),
    ("MASTERCARD", luhn("51", 16)),
    ("MASTERCARD", luhn("2221", 16)),
    ("AMEX", luhn("34", 15)),
    ("AMEX", luhn("37", 15)),
    ("DISCOVER", luhn("6011", 16)),
    ("DISCOVER", luhn("65", 16)),
    ("DINERS", luhn("36", 14)),
    ("JCB", luhn("3528", 16)),
    ("UNIONPAY", luhn("62", 17)),
    ("MAESTRO", luhn("50", 12)),
    ("MAESTRO", luhn("6304", 19)),
    ("UNKNOWN", luhn("9", 16)),
    ("UNKNOWN", luhn("0", 12)),
]


@pytest.mark.django_db
class TestGoodInput:
    @pytest.mark.parametrize(("brand", "pan"), BRANDS)
    def test_of_every_brand_is_accepted(self, api, brand, pan):
        payment = api.post(PAYMENTS, orders.card_payment(**card(pan=pan))).json()

        shown = payment["source"]
        assert (shown["card_type"], shown["card_bin"], shown["card_last4"]) == (brand, pan[:6], pan[-4:])

    @pytest.mark.parametrize("pan", ["4084 0840 8408 4081", " 4084084084084081 ", "4 0 8 4 084084084081"])
    def test_with_spaces_in_the_card_number_is_the_same_request(self, api, pan):
        order = orders.card_payment()
        api.post(PAYMENTS, order)

        answer = api.post(PAYMENTS, order | card(pan=pan))

        assert answer.status_code == 200

    @pytest.mark.parametrize("cvv", ["000", "0000", "9999"])
    def test_with_another_cvv_is_the_same_request(self, api, cvv):
        order = orders.card_payment()
        api.post(PAYMENTS, order)

        assert api.post(PAYMENTS, order | card(cvv=cvv)).status_code == 200

    @pytest.mark.parametrize("mark", [*"\u200b\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069\ufeff"])
    def test_with_invisible_marks_is_stored_without_them(self, api, mark):
        name, email = f"{mark}Ada\u00a0Obi\u2011Eze{mark}", f"ada@example.com{mark}"

        answer = api.post(PAYMENTS, orders.card_payment(**payer(reference="c", email=email, name=name)))

        row = Transaction.objects.get()
        assert answer.status_code == 201
        assert (row.customer_name, row.customer_email) == ("Ada Obi-Eze", "ada@example.com")

    @pytest.mark.parametrize(
        "narration",
        ["", " ", "😀👨‍👩‍👧", "שלום עולם", "مرحبا", "<script>alert(1)</script>", "'; DROP TABLE --", "a\tb\r\n", "\u202eevil", "x" * 255, "😀" * 255],
    )  # fmt: skip
    def test_of_any_narration_is_stored_unchanged(self, api, narration):
        answer = api.post(PAYMENTS, orders.payout(narration=narration))

        assert answer.status_code == 201
        assert Transaction.objects.get().narration == narration

    @pytest.mark.parametrize(
        "reference", ["a", "x" * 100, "A.b_c:d-9", "-", "4084084084084081", "capture", "0"]
    )
    def test_of_any_reference_is_found_again(self, api, reference):
        api.post(PAYMENTS, orders.payout(reference=reference))

        if reference != "..":  # clients resolve it to the parent path
            assert api.get(f"{PAYMENTS}/{reference}").json()["reference"] == reference
        assert Transaction.objects.get().reference == reference

    @pytest.mark.parametrize("amount", [1, 10**12])
    def test_of_the_smallest_and_largest_amount_is_accepted(self, api, amount):
        assert api.post(PAYMENTS, orders.payout(amount=amount)).json()["amount"] == amount

    @pytest.mark.parametrize(
        ("given", "kept"),
        [("1.2.3.4", "1.2.3.4"), ("2001:DB8::0:1", "2001:db8::1"), ("::ffff:1.2.3.4", "::ffff:102:304")],
    )
    def test_of_an_ip_address_is_stored_in_canonical_form(self, api, given, kept):
        answer = api.post(PAYMENTS, orders.payout(payment_ip=given))

        assert answer.status_code == 201
        assert Transaction.objects.get().payment_ip in {kept, given}

    @pytest.mark.parametrize(
        "address",
        [
            "http://localhost/done", "https://127.0.0.1:8443/x?y=1&z=%20#end", "https://[::1]/", "HTTPS://Shop.Example/",
            "https://xn--bcher-kva.example/", "https://shop.example/'\"<>", "https://a_b.example/",
        ],
    )  # fmt: skip
    def test_of_an_absolute_url_is_accepted(self, api, address):
        assert api.post(PAYMENTS, orders.card_payment(redirect_url=address)).status_code == 201

    @pytest.mark.parametrize("amount", [0, 0.0, ...])
    @pytest.mark.parametrize("type_", ["card", "CARD", "Card"])
    def test_of_a_card_check_is_accepted(self, api, amount, type_):
        answer = api.post(PAYMENTS, orders.card_check(amount=amount, **card(type=type_)))

        assert (answer.status_code, answer.json()["amount"]) == (201, 0)


@pytest.mark.django_db
class TestCardNumberInFreeText:
    PAN = "5399 8383 8383 8381"
    MASKED = "539983******8381"

    def test_is_masked_in_storage(self, api):
        text = f"paid by {self.PAN} 12/30"
        order = orders.card_payment(narration=text, **payer(reference="c", email="a@example.com", name=text))
        api.post(PAYMENTS, order)
        refund = {"reference": "refund-1", "reason": text}

        refunded = api.post(f"{PAYMENTS}/{order['reference']}/refunds", refund)

        payment, operation = Transaction.objects.get(), CardOperation.objects.get()
        expected = f"paid by {self.MASKED} 12/30"
        assert (payment.narration, payment.customer_name, operation.reason) == (expected,) * 3
        assert refunded.json()["reason"] == expected

    @pytest.mark.parametrize("digits", ["+234 803 123 0007", "356938035643809", "1795721232001"])
    def test_other_digits_that_pass_the_luhn_check_are_stored_as_sent(self, api, digits):
        answer = api.post(PAYMENTS, orders.payout(narration=f"for {digits}", **customer(name=digits)))

        row = Transaction.objects.get()
        assert answer.status_code == 201
        assert (row.narration, row.customer_name) == (f"for {digits}", digits)

    def test_does_not_prevent_a_replay(self, api):
        order = orders.payout(narration=self.PAN, **customer(name=f"Ada {self.PAN}"))

        answers = [api.post(PAYMENTS, order) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [201, 200]
        assert answers[0].json()["customer"]["name"] == f"Ada {self.MASKED}"
