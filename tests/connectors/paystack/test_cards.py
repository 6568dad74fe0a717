"""Card charges, their steps, and the hosted checkout."""

import re
from urllib.parse import urlsplit

import pytest

from tests.connectors.paystack.client import (
    AT_BANK,
    NO_FUNDS,
    REFERENCE,
    SUCCESS,
    WITH_OTP,
    WITH_PHONE,
    Client,
)

CALLBACK = "https://shop.example/return?order=7"


def page_of(address):
    return urlsplit(address).path


class TestCharge:
    def test_succeeds_and_books_amount_and_fee(self, paystack):
        paid = paystack.charge()

        assert (paid.status, paid.message, paid.data["status"]) == (200, "Charge attempted", "success")
        assert paid.data["fees"] == 750  # 1.5 %; the NGN 100 is waived below NGN 2,500
        assert paystack.verify().data["status"] == "success"
        assert paystack.books()["charged"] == {REFERENCE: 50_000}
        assert paystack.books()["unsettled"] == 49_250

    def test_announces_only_success(self, paystack):
        paystack.charge(NO_FUNDS, reference="poor")
        paystack.charge()

        assert paystack.events() == ["charge.success"]

    @pytest.mark.parametrize(
        ("variant", "message"),
        [
            ("charge_repeated", "Duplicate charge request for reference"),
            ("transaction_repeated", "Duplicate Transaction Reference"),
        ],
    )
    def test_repeated_reference_is_refused_and_not_the_first_answer(self, variant, message):
        paystack = Client(variants={"charge_repeated": variant})
        paystack.charge()

        again = paystack.charge(NO_FUNDS)

        assert (again.status, again.message) == (400, message)
        assert paystack.books()["charged"] == {REFERENCE: 50_000}

    @pytest.mark.parametrize(
        ("card", "code", "iso"),
        [
            (NO_FUNDS, "insufficient_funds", "51"),
            (SUCCESS | {"number": "4084080000005408", "cvv": "001"}, "declined", "100"),
            (SUCCESS | {"expiry_year": "25"}, "expired_card", "54"),
            (SUCCESS | {"cvv": "111"}, "invalid_cvv", "122"),
            (SUCCESS | {"number": "4111111111111111"}, "declined", "100"),  # test mode refuses real cards
        ],
    )
    def test_declines_with_the_gateways_codes(self, paystack, card, code, iso):
        declined = paystack.charge(card)

        assert declined.status == 200
        assert declined.data["status"] == "failed"
        assert (declined.data["gateway_response_code"], declined.data["response_code"]) == (code, iso)
        assert paystack.verify().data["gateway_response_code"] == code
        assert paystack.books()["charged"] == {}

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"email": ""}, "Email address is required for association with card"),
            ({"amount": 0}, "You must specify a valid amount"),
            ({"amount": "50.5"}, "Invalid Amount Sent"),
            ({"amount": 4_999}, "Invalid Amount Sent"),
            ({"currency": "GHS"}, "Currency not supported by merchant"),
            ({"reference": "a/b"}, "Your reference contains illegal special characters"),
            ({"card": None}, "Provide all required params"),
            ({"card": SUCCESS | {"expiry_month": "x"}}, "Provide all required params"),
        ],
    )
    def test_refuses_invalid_requests_without_a_trace(self, paystack, changes, message):
        known = {"email": "a@b.co", "amount": "50000", "reference": REFERENCE, "card": SUCCESS}

        refused = paystack.post("/charge", **(known | changes))

        assert (refused.status, refused.message) == (400, message)
        assert paystack.verify().status == 404


class TestSteps:
    def test_pin_then_otp(self, paystack):
        asked = paystack.charge(WITH_OTP).data
        then = paystack.post("/charge/submit_pin", reference=REFERENCE, pin="1234").data
        assert paystack.verify().data["status"] == "ongoing"
        paid = paystack.post("/charge/submit_otp", reference=REFERENCE, otp="123456").data

        assert [asked["status"], then["status"], paid["status"]] == ["send_pin", "send_otp", "success"]
        assert then["display_text"] == "Please send OTP"

    def test_pin_with_the_charge_saves_its_step(self, paystack):
        assert paystack.charge(WITH_PHONE, pin="0000").data["status"] == "send_phone"

    def test_wrong_otp_asks_again_and_fails_after_three(self, paystack):
        paystack.charge(WITH_OTP, pin="1234")

        said = [
            paystack.post("/charge/submit_otp", reference=REFERENCE, otp="000000").data["status"]
            for _ in range(3)
        ]

        assert said == ["send_otp", "send_otp", "failed"]

    def test_wrong_pin_fails_at_once_by_the_variant(self):
        paystack = Client(variants={"wrong_code": "failed"})
        paystack.charge(WITH_OTP)

        failed = paystack.post("/charge/submit_pin", reference=REFERENCE, pin="9").data

        assert (failed["status"], failed["gateway_response_code"]) == ("failed", "invalid_pin")

    def test_submission_after_the_end_or_of_another_step_is_refused(self, paystack):
        paystack.charge(WITH_OTP)
        wrong_step = paystack.post("/charge/submit_otp", reference=REFERENCE, otp="123456")
        paystack.charge(reference="paid")
        late = paystack.post("/charge/submit_pin", reference="paid", pin="1234")

        assert {(each.status, each.message) for each in (wrong_step, late)} == {
            (400, "Transaction reference is invalid")
        }

    def test_address_needs_all_fields_and_an_answer_can_lack_its_reference(self, paystack):
        paystack.command(script={"card": ["birthday otp address approved"]})
        paystack.charge()

        nameless = paystack.post("/charge/submit_birthday", reference=REFERENCE, birthday="1990-12-31").data
        asked = paystack.post("/charge/submit_otp", reference=REFERENCE, otp="1").data
        refused = paystack.post("/charge/submit_address", reference=REFERENCE, address="1 Marina")

        assert (nameless["status"], "reference" in nameless) == ("send_otp", False)
        assert (asked["status"], asked["country_code"], refused.status) == ("send_address", "US", 400)

    def test_pending_ends_when_its_time_has_come(self, paystack):
        paystack.command(script={"card": ["pending=30 approved"]})

        assert paystack.charge().data["status"] == "pending"
        paystack.simulator.advance(29)
        assert paystack.get(f"/charge/{REFERENCE}").data["status"] == "pending"
        paystack.simulator.advance(1)
        assert paystack.get(f"/charge/{REFERENCE}").data["status"] == "success"

    @pytest.mark.parametrize("word", ["approve", "decline"])
    def test_bank_page(self, paystack, word):
        asked = paystack.charge(AT_BANK).data
        path = page_of(asked["url"])

        assert b"Confirm the payment" in paystack.simulator.handle("GET", path, {}).body
        answers = [paystack.submit(path, action=word) for _ in range(2)]

        assert asked["status"] == "open_url"
        assert {(each.status, each.headers["Location"]) for each in answers} == {(303, "/simulator/close")}
        assert paystack.verify().data["status"] == {"approve": "success", "decline": "failed"}[word]

    def test_bank_page_may_return_the_payer(self):
        paystack = Client(variants={"open_url_return": "callback"})
        asked = paystack.charge(AT_BANK, callback_url=CALLBACK, metadata={"order": 7}).data

        back = paystack.submit(page_of(asked["url"]), action="approve")

        assert back.headers["Location"].startswith(CALLBACK)
        assert paystack.verify().data["metadata"] == {"order": 7}

    def test_failed_address_has_status_false_in_200(self, paystack):
        paystack.command(script={"card": ["address insufficient_funds"]})
        paystack.charge()
        address = {"address": "1 Marina", "city": "Lagos", "state": "LA", "zip_code": "1"}

        failed = paystack.post("/charge/submit_address", reference=REFERENCE, **address)

        assert (failed.status, failed.document["status"], failed.data["status"]) == (200, False, "failed")

    def test_timeout_and_server_error(self, paystack):
        slow = paystack.charge(SUCCESS | {"number": "5060660000000064", "cvv": "606"}, reference="slow")
        broken = paystack.charge(SUCCESS | {"number": "506066506066506067", "cvv": "060"}, reference="broken")

        assert (slow.data["status"], broken.status) == ("timeout", 500)
        assert {paystack.verify(each).data["status"] for each in ("slow", "broken")} == {"failed"}


class TestHostedCheckout:
    def opened(self, paystack, **more):
        made = paystack.post(
            "/transaction/initialize",
            email="ada@example.com",
            amount=50_000,
            reference=REFERENCE,
            callback_url=CALLBACK,
            **more,
        )
        return page_of(made.data["authorization_url"])

    def test_takes_a_card_and_returns_the_payer(self, paystack):
        path = self.opened(paystack)
        assert paystack.verify().data["status"] == "abandoned"

        shown = paystack.simulator.handle("GET", path, {})
        paid = paystack.submit(path, action="card", **SUCCESS)

        assert b"NGN 500.00" in shown.body
        assert paid.headers["Location"] == f"{CALLBACK}&trxref={REFERENCE}&reference={REFERENCE}"
        assert paystack.verify().data["status"] == "success"

    def test_double_submission_charges_once(self, paystack):
        path = self.opened(paystack)

        answers = [paystack.submit(path, action="card", **SUCCESS) for _ in range(2)]

        assert len({each.headers["Location"] for each in answers}) == 1
        assert paystack.events() == ["charge.success"]

    def test_failure_is_not_final(self, paystack):
        path = self.opened(paystack)

        declined = paystack.submit(path, action="card", **NO_FUNDS)
        assert b"Insufficient Funds" in declined.body
        assert paystack.verify().data["status"] == "failed"
        paystack.submit(path, action="card", **SUCCESS)

        assert paystack.verify().data["status"] == "success"

    def test_asks_for_steps_and_goes_through_the_bank(self, paystack):
        path = self.opened(paystack)
        paystack.command(script={"card": ["pin=1111 open_url approved"]})

        asked = paystack.submit(path, action="card", **SUCCESS)
        bank = paystack.submit(path, action="pin", pin="1111").headers["Location"]
        back = paystack.submit(page_of(bank), action="approve").headers["Location"]

        assert re.search(rb'name="pin"', asked.body)
        assert page_of(back) == path
        assert paystack.simulator.handle("GET", path, {}).headers["Location"].startswith(CALLBACK)

    def test_cancelling_leaves_it_abandoned(self, paystack):
        path = self.opened(paystack, metadata={"cancel_action": "https://shop.example/cart"})

        left = paystack.submit(path, action="cancel")

        assert left.headers["Location"] == "https://shop.example/cart"
        assert paystack.verify().data["status"] == "abandoned"

    @pytest.mark.parametrize("charges", ["refused", "continued"])
    def test_references_of_initialized_transactions(self, charges):
        paystack = Client(variants={"charge_of_initialized": charges})
        self.opened(paystack)

        again = paystack.post("/transaction/initialize", email="a@b.co", amount=50_000, reference=REFERENCE)

        assert again.message == "Duplicate Transaction Reference"
        assert paystack.charge().status == {"refused": 400, "continued": 200}[charges]

    def test_unknown_checkout(self, paystack):
        assert paystack.simulator.handle("GET", "/checkout/unknown", {}).status == 404


class TestQueries:
    def test_lists_by_page_cursor_and_filters(self, paystack):
        for number in range(5):
            paystack.charge(NO_FUNDS if number == 4 else SUCCESS, reference=f"order-{number}")

        first = paystack.get("/transaction", perPage=2)
        cursor = paystack.get("/transaction", perPage=4, use_cursor="true").document["meta"]["next"]
        rest = paystack.get("/transaction", perPage=4, use_cursor="true", next=cursor)
        failed = paystack.get("/transaction", status="failed")

        assert [each["reference"] for each in first.data] == ["order-4", "order-3"]
        assert first.document["meta"] == {
            "total": 5,
            "total_volume": 250_000,
            "skipped": 0,
            "perPage": 2,
            "page": 1,
            "pageCount": 3,
        }
        assert [each["reference"] for each in rest.data] == ["order-0"]
        assert rest.document["meta"]["next"] is None
        assert [each["reference"] for each in failed.data] == ["order-4"]
        assert paystack.get("/transaction", customer="CUS_1").data == []

    def test_unknown_reference(self, paystack):
        assert (paystack.verify().status, paystack.verify().message) == (
            404,
            "Transaction reference not found.",
        )
        assert paystack.get(f"/charge/{REFERENCE}").status == 400
        assert paystack.get("/transaction/abc").message == "Transaction ID should be numeric"
        assert Client(variants={"unknown_transaction": "400"}).verify().status == 400

    @pytest.mark.parametrize(
        ("variant", "in_charge", "in_verify"),
        [("everywhere", True, True), ("not_in_charge", False, True), ("nowhere", False, False)],
    )
    def test_codes_may_be_absent(self, variant, in_charge, in_verify):
        paystack = Client(variants={"charge_codes": variant})

        declined = paystack.charge(NO_FUNDS).data

        assert ("gateway_response_code" in declined) is in_charge
        assert ("gateway_response_code" in paystack.verify().data) is in_verify
        assert declined["message"] == "Insufficient Funds"
