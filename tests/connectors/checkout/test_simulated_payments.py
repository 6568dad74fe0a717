import pytest

from connectors.checkout.simulator import tables
from tests.connectors.checkout.client import GOOD_CARD, order


class TestAuthorisation:
    def test_is_approved_and_found_by_id_and_reference(self, client):
        status, made = client.pay(reference="one")

        assert (status, made["approved"], made["status"], made["response_code"]) == (
            201,
            True,
            "Authorized",
            "10000",
        )
        assert client.get(f"/payments/{made['id']}")[1]["status"] == "Authorized"
        assert [one["id"] for one in client.get("/payments?reference=one")[1]["data"]] == [made["id"]]

    @pytest.mark.parametrize(("card", "code"), tables.CODE_OF_CARD.items())
    def test_of_a_test_card_is_declined_with_201(self, client, card, code):
        status, made = client.pay(card)

        assert (status, made["approved"], made["status"], made["response_code"]) == (
            201,
            False,
            "Declined",
            code,
        )

    @pytest.mark.parametrize(
        ("amount", "code"),
        [
            (10_005, "20005"),
            (9998, "20068"),
            (10_054, "20087"),
            (6512, "20154"),
            (4001, "40101"),
            (101, "20051"),
        ],
    )
    def test_is_declined_by_amount(self, client, amount, code):
        assert client.pay(amount=amount)[1]["response_code"] == code

    def test_is_not_declined_by_amount_in_the_other_variant(self, client, simulator):
        simulator.account.variants.change({"amount_codes": "off"})

        assert client.pay(amount=10_005)[1]["approved"] is True

    def test_has_a_recommendation_and_an_authorisation_code_on_a_decline(self, client):
        made = client.pay("5105105105105100", amount=8205)[1]

        assert made["approved"] is False
        assert made["processing"]["recommendation_code"] == "02"
        assert made["auth_code"]

    def test_reason_of_a_decline_is_only_in_the_actions(self, client):
        made = client.pay("4544249167673670")[1]

        assert "response_code" not in client.get(f"/payments/{made['id']}")[1]
        assert client.actions(made["id"])[0]["response_code"] == "20051"

    def test_is_approved_in_part(self, client, simulator):
        simulator.account.decisions["Authorization"].append("10010")

        made = client.pay(amount=10_000)[1]

        assert (made["approved"], made["amount"], made["response_code"]) == (True, 5000, "10010")

    def test_of_an_expired_card(self, client, simulator):
        expired = {"expiry_year": 2020}
        assert client.pay(source=expired)[1]["response_code"] == "20054"

        simulator.account.variants.change({"expired_card": "refused"})
        assert client.pay(source=expired)[1]["error_codes"] == ["card_expired"]

    def test_expires(self, client, simulator):
        first = client.pay()[1]["id"]
        client.pass_time(7 * 24 * 3600)
        assert client.get(f"/payments/{first}")[1]["status"] == "Expired"

        simulator.account.variants.change({"expired_authorization": "Voided"})
        second = client.pay()[1]["id"]
        client.pass_time(7 * 24 * 3600)
        assert client.get(f"/payments/{second}")[1]["status"] == "Voided"

    def test_stores_the_card_unless_told_not_to(self, client, simulator):
        assert "id" not in client.pay()[1]["source"]
        assert simulator.books()["stored_cards"] == 0

        kept = client.pay(source={"store_for_future_use": True})[1]

        assert kept["source"]["id"].startswith("src_")
        assert simulator.books()["stored_cards"] == 1


class TestRefusal:
    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"currency": "XYZ"}, "currency_invalid"),
            ({"amount": 1_000_000_000}, "amount_invalid"),
            ({"currency": "KWD", "amount": 1001}, "amount_invalid"),
            ({"processing_channel_id": None}, "processing_channel_id_required"),
            ({"processing_channel_id": "pc_another"}, "processing_channel_id_invalid"),
            ({"source": {"number": "4242424242424241"}}, "card_number_invalid"),
            ({"source": {"cvv": "1234"}}, "cvv_invalid"),
            ({"source": {"expiry_month": 13}}, "card_expiry_month_invalid"),
            ({"source": {"billing_address": {"country": "NGA"}}}, "address_invalid"),
            ({"reference": "x" * 51}, "reference_invalid"),
            ({"billing_descriptor": {"name": "Ada"}}, "billing_descriptor_invalid"),
            ({"metadata": {"nested": {}}}, "metadata_invalid"),
            ({"payment_ip": "nowhere"}, "payment_ip_invalid"),
        ],
    )
    def test_precedes_processing(self, client, simulator, change, code):
        status, refused = client.post("/payments", order(**change))

        assert (status, refused["error_type"], refused["error_codes"]) == (422, "request_invalid", [code])
        assert simulator.books()["payments"] == {}

    def test_of_a_long_reference_concerns_amex_only(self, client):
        assert client.pay("378282246310005", reference="x" * 31)[1]["error_codes"] == ["reference_invalid"]
        assert client.pay(reference="x" * 31)[0] == 201

    def test_of_a_wrong_key_has_no_body(self, client):
        assert client.call("GET", "/payments?reference=x", Authorization="Bearer sk_sbox_other") == (401, b"")

    def test_without_the_grant_for_card_details(self, client, simulator):
        simulator.identity.has_grant = False
        assert client.pay()[0] == 422

        simulator.account.variants.change({"missing_grant": "403"})
        assert client.pay()[0] == 403

    def test_of_what_is_no_json(self, simulator):
        headers = {"Authorization": f"Bearer {simulator.identity.secret_key}"}

        assert simulator.handle("POST", "/payments", headers, b"[").status == 400

    def test_of_too_many_calls_per_second(self, client, simulator):
        simulator.limit_calls(2)

        assert [client.get("/payments?reference=x")[0] for _ in range(3)] == [200, 200, 429]
        client.pass_time(1)
        assert client.get("/payments?reference=x")[0] == 200


class TestCardCheck:
    def test_verifies_without_reserving(self, client, simulator):
        made = client.pay(amount=0)[1]

        assert (made["status"], made["approved"]) == ("Card Verified", True)
        assert client.actions(made["id"])[0]["type"] == "Card Verification"
        assert client.post(f"/payments/{made['id']}/captures")[0] == 403
        assert simulator.books()["payments"][made["id"]]["reserved"] == 0

    def test_of_cards_that_only_decline_amounts(self, client):
        assert client.pay("4546381219393284", amount=0)[1]["approved"] is True
        assert client.pay("4546381219393284")[1]["response_code"] == "20051"


class TestOperations:
    def test_capture_is_accepted_and_decided_later(self, client):
        payment = client.pay()[1]["id"]

        status, accepted = client.post(f"/payments/{payment}/captures", {"amount": 4000, "reference": "op-1"})

        assert (status, accepted["reference"]) == (202, "op-1")
        assert [one["type"] for one in client.actions(payment)] == ["Authorization"]
        client.pass_time(1)
        newest = client.actions(payment)[0]
        assert (newest["id"], newest["approved"], newest["reference"]) == (
            accepted["action_id"],
            True,
            "op-1",
        )
        balances = client.get(f"/payments/{payment}")[1]["balances"]
        assert (balances["total_captured"], balances["total_voided"], balances["available_to_capture"]) == (
            4000,
            6000,
            0,
        )

    def test_undecided_action_is_listed_without_approval_in_the_other_variant(self, client, simulator):
        simulator.account.variants.change({"undecided_action": "listed"})
        payment = client.pay()[1]["id"]

        client.post(f"/payments/{payment}/voids")

        assert "approved" not in client.actions(payment)[0]

    def test_captures_in_parts(self, client):
        payment = client.pay()[1]["id"]
        for amount in (3000, 7000):
            client.post(f"/payments/{payment}/captures", {"amount": amount, "capture_type": "NonFinal"})
        client.pass_time(1)

        assert client.get(f"/payments/{payment}")[1]["status"] == "Captured"

    def test_automatic_capture_can_be_declined_later(self, client, simulator):
        simulator.account.decisions["Capture"].append("20051")

        payment = client.pay(capture=True)[1]["id"]
        client.pass_time(1)

        assert [one["approved"] for one in client.actions(payment)] == [False, True]
        assert client.get(f"/payments/{payment}")[1]["status"] == "Authorized"
        assert client.post(f"/payments/{payment}/captures", {"amount": 10_000})[0] == 202

    def test_void_that_loses_the_race_against_the_capture_is_declined(self, client, simulator):
        payment = client.pay(capture=True)[1]["id"]

        assert client.post(f"/payments/{payment}/voids")[0] == 202
        client.pass_time(2)

        decided = {one["type"]: one["approved"] for one in client.actions(payment)}
        assert decided == {"Authorization": True, "Capture": True, "Void": False}
        assert simulator.books()["payments"][payment]["charged"] == 10_000

    def test_card_whose_capture_and_void_are_declined(self, client):
        payment = client.pay("4273149019799094")[1]["id"]

        client.post(f"/payments/{payment}/voids")
        client.pass_time(1)

        assert client.actions(payment)[0]["approved"] is False

    def test_refunds_up_to_what_was_captured(self, client, simulator):
        payment = client.paid()

        assert client.post(f"/payments/{payment}/refunds", {"amount": 6000})[0] == 202
        status, refused = client.post(f"/payments/{payment}/refunds", {"amount": 6000})

        assert (status, refused["error_codes"]) == (422, ["refund_amount_exceeds_balance"])
        client.pass_time(1)
        assert client.get(f"/payments/{payment}")[1]["status"] == "Partially Refunded"
        assert simulator.books()["payments"][payment]["refunded"] == 6000

    @pytest.mark.parametrize(
        ("amount", "code"),
        [
            (10_001, "capture_value_greater_than_authorized"),
            (9000, "capture_value_greater_than_remaining_authorized"),
        ],
    )
    def test_captures_no_more_than_is_left(self, client, amount, code):
        payment = client.pay()[1]["id"]
        client.post(f"/payments/{payment}/captures", {"amount": 2000, "capture_type": "NonFinal"})

        assert client.post(f"/payments/{payment}/captures", {"amount": amount})[1]["error_codes"] == [code]

    @pytest.mark.parametrize("call", ["refunds", "reversals"])
    def test_of_a_declined_payment_is_forbidden(self, client, call):
        payment = client.pay("4544249167673670")[1]["id"]

        assert client.post(f"/payments/{payment}/{call}") == (403, b"")

    @pytest.mark.parametrize(("capture", "kind"), [(True, "Refund"), (False, "Void")])
    def test_reversal_voids_or_refunds(self, client, capture, kind):
        payment = client.paid(capture=capture)

        assert client.post(f"/payments/{payment}/reversals", {"reference": "rev"})[0] == 202
        client.pass_time(1)

        newest = client.actions(payment)[0]
        assert (newest["type"], newest["amount"], newest["reference"]) == (kind, 10_000, "rev")

    def test_of_an_unknown_payment(self, client):
        assert client.post(f"/payments/pay_{'a' * 26}/captures") == (404, b"")


class TestLookup:
    def test_by_reference_is_newest_first_and_in_pages(self, client):
        made = [client.pay(reference="same")[1]["id"] for _ in range(3)]

        first = client.get("/payments?reference=same&limit=2")[1]
        rest = client.get("/payments?reference=same&limit=2&skip=2")[1]

        assert [one["id"] for one in first["data"] + rest["data"]] == made[::-1]
        assert first["total_count"] == 3

    def test_by_reference_is_delayed(self, client, simulator):
        simulator.account.delays.change({"index": 5})
        made = client.pay(reference="new")[1]

        assert client.get("/payments?reference=new")[1]["data"] == []
        assert client.get(f"/payments/{made['id']}")[0] == 200
        client.pass_time(5)
        assert len(client.get("/payments?reference=new")[1]["data"]) == 1

    def test_of_a_young_payment_finds_nothing_and_refuses_captures(self, client, simulator):
        simulator.plan.add("hide 60")
        made = client.pay(reference="young")[1]

        assert client.get(f"/payments/{made['id']}")[0] == 404
        assert client.post(f"/payments/{made['id']}/captures")[0] == 404
        assert client.get("/payments?reference=young")[1]["total_count"] == 0
        client.pass_time(60)
        assert client.get(f"/payments/{made['id']}")[0] == 200

    def test_needs_a_reference(self, client):
        assert client.get("/payments")[0] == 422


def test_good_card_is_a_known_test_card():
    assert tables.LOW_ON_FUNDS[0] == GOOD_CARD
