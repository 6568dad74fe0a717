import re

import pytest
from django.core.management import call_command

from payments.models import Transaction
from tests import orders


def beneficiary(**changes):
    return {"name": "Ada Obi", "account_number": "0123456789", "bank_code": "058"} | changes


@pytest.mark.django_db
class TestPayout:
    def test_succeeds_with_an_ordinary_amount(self, api):
        order = orders.payout(amount=250_000)

        answer = api.post("/api/payments", order)

        payout = answer.json()
        assert answer.status_code == 201
        assert answer["Location"] == f"/api/payments/{order['reference']}"
        assert (payout["status"], payout["response_code"]) == ("success", "10000")
        assert payout["response_summary"] == "Payment completed"
        assert payout["customer"] == beneficiary(bank_name="Guaranty Trust Bank")

    @pytest.mark.parametrize("ending", ["05", "07", "51", "61", "91"])
    def test_fails_with_a_triggering_amount(self, api, ending):
        payout = api.post("/api/payments", orders.payout(amount=10_000 + int(ending))).json()

        assert (payout["status"], payout["response_code"]) == ("failed", "20030")
        assert payout["response_summary"] == "Payment failed"
        assert payout["gateway_code"] == ending
        assert payout["gateway_recommendation"] in {"retry", "do_not_retry"}
        assert payout["fee"] == 0

    @pytest.mark.parametrize("amount", [5, 9_951, 10_098, 10_041, 10**12])
    def test_succeeds_with_amounts_that_only_trigger_card_declines(self, api, amount):
        payout = api.post("/api/payments", orders.payout(amount=amount)).json()

        assert payout["status"] == "success"

    @pytest.mark.parametrize("code", ["058", "000013"])
    def test_in_another_currency_than_the_banks_is_rejected(self, api, code):
        order = orders.payout(currency="USD", customer=beneficiary(bank_code=code))

        answer = api.post("/api/payments", order)

        assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_currency")
        assert answer.json()["errors"] == [
            {
                "field": "currency",
                "code": "unsupported_currency",
                "message": "This bank takes payouts in NGN only.",
            }
        ]
        assert not Transaction.objects.exists()

    @pytest.mark.parametrize(
        ("customer", "currency"),
        [
            ([], "USD"),
            ({"bank_code": 58}, "USD"),
            (beneficiary(bank_code="999"), "USD"),
            (beneficiary(), ["USD"]),
        ],
    )
    def test_with_an_invalid_bank_or_currency_gets_only_that_error(self, api, customer, currency):
        answer = api.post("/api/payments", orders.payout(customer=customer, currency=currency))

        assert answer.status_code == 400
        assert "unsupported_currency" not in {one["code"] for one in answer.json()["errors"]}

    @pytest.mark.parametrize("given", ["058", "000013"])
    def test_accepts_either_code_of_a_bank_and_returns_one(self, api, given):
        payout = api.post("/api/payments", orders.payout(customer=beneficiary(bank_code=given))).json()

        assert payout["customer"]["bank_code"] == "058"

    def test_with_the_other_code_of_its_bank_is_the_same_request(self, api):
        order = orders.payout(customer=beneficiary(bank_code="058"))
        first = api.post("/api/payments", order)

        again = api.post("/api/payments", order | {"customer": beneficiary(bank_code="000013")})

        assert (again.status_code, again.json()) == (200, first.json())

    def test_returns_the_merchants_name_of_the_customer(self, api):
        customer = beneficiary(reference="cust-7", email="ada@example.com")

        payout = api.post("/api/payments", orders.payout(customer=customer)).json()

        assert payout["customer"] == beneficiary(bank_name="Guaranty Trust Bank", merchant_reference="cust-7")

    def test_to_the_lost_answer_account_is_pending_until_queried(self, api):
        order = orders.payout(customer=beneficiary(account_number="0000000097"), amount=10_051)

        payout = api.post("/api/payments", order).json()
        call_command("requery_pending")

        assert (payout["status"], payout["response_code"]) == ("pending", "10001")
        assert payout["response_summary"] == "Processing"
        after = api.get(f"/api/payments/{order['reference']}").json()
        assert (after["status"], after["response_code"]) == ("success", "10000")

    @pytest.mark.parametrize(
        ("amount", "fee"),
        [(1, 1_000), (500_000, 1_000), (500_001, 2_500), (5_000_000, 2_500), (5_000_002, 5_000)],
    )
    def test_fee_depends_on_the_amount(self, api, amount, fee):
        assert api.post("/api/payments", orders.payout(amount=amount)).json()["fee"] == fee

    @pytest.mark.parametrize("missing", ["name", "account_number", "bank_code"])
    def test_requires_a_name_an_account_and_a_bank(self, api, missing):
        customer = {name: value for name, value in beneficiary().items() if name != missing}

        answer = api.post("/api/payments", orders.payout(customer=customer))

        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == [f"customer.{missing}"]
        assert not Transaction.objects.exists()

    @pytest.mark.parametrize("action", ["capture", "void"])
    def test_cannot_be_captured_or_voided(self, api, action):
        order = orders.payout()
        api.post("/api/payments", order)

        answer = api.post(f"/api/payments/{order['reference']}/{action}")

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")


@pytest.mark.django_db
class TestBanks:
    def test_are_sorted_by_name_with_their_fields(self, api):
        rows = api.get("/api/banks").json()["data"]

        assert len(rows) == 53
        assert [row["name"] for row in rows] == sorted((row["name"] for row in rows), key=str.casefold)
        assert {
            "code": "058",
            "name": "Guaranty Trust Bank",
            "nip_code": "000013",
            "country": "NGA",
            "currency": "NGN",
        } in rows
        assert {tuple(row) for row in rows} == {("code", "name", "nip_code", "country", "currency")}
        assert all(re.fullmatch(r"[0-9]{3,6}", row["code"]) for row in rows)
        assert all(re.fullmatch(r"[0-9]{6}", row["nip_code"]) for row in rows)

    def test_have_unique_codes(self, api):
        rows = api.get("/api/banks").json()["data"]

        by_either = [{row["code"], row["nip_code"]} for row in rows]
        assert sum(len(codes) for codes in by_either) == len(set().union(*by_either))

    def test_are_not_sent_again_to_a_client_with_a_current_copy(self, api):
        first = api.get("/api/banks")

        same = api.get("/api/banks", **{"If-None-Match": first["ETag"]})
        weak = api.get("/api/banks", **{"If-None-Match": f'"other", W/{first["ETag"]}'})
        other = api.get("/api/banks", **{"If-None-Match": '"other"'})
        listed = api.get("/api/banks", **{"If-None-Match": f'"a", "b",{first["ETag"]}'})
        any_at_all = api.get("/api/banks", **{"If-None-Match": "*"})
        part = api.get("/api/banks", **{"If-None-Match": f'"x{first["ETag"][1:]}'})
        bare = api.get("/api/banks", **{"If-None-Match": first["ETag"].strip('"')})

        assert (same.status_code, same.content, same["ETag"]) == (304, b"", first["ETag"])
        assert (weak.status_code, other.status_code) == (304, 200)
        assert (listed.status_code, any_at_all.status_code) == (304, 304)
        assert (part.status_code, bare.status_code) == (200, 200)

    def test_can_all_be_paid(self, api):
        rows = api.get("/api/banks").json()["data"]

        for row in rows[:10]:
            customer = beneficiary(bank_code=row["code"])
            assert api.post("/api/payments", orders.payout(customer=customer)).status_code == 201

    def test_that_are_not_listed_are_rejected(self, api):
        answer = api.post("/api/payments", orders.payout(customer=beneficiary(bank_code="999998")))

        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == ["customer.bank_code"]
