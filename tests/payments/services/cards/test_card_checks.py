import re

import pytest

from payments.models import Transaction
from tests import orders

FIELDS = {
    "request_type", "id", "reference", "status", "response_code", "response_summary", "gateway_code",
    "retrieval_reference_number", "system_trace_audit_number", "acquirer_transaction_id",
    "authorization_code", "amount", "currency", "payment_timestamp", "completed_at", "source",
}  # fmt: skip


@pytest.mark.django_db
class TestCardCheck:
    def test_returns_the_fields_of_a_check_only(self, api):
        answer = api.post("/api/payments", orders.card_check())

        check = answer.json()
        assert answer.status_code == 201
        assert set(check) == FIELDS
        assert (check["request_type"], check["status"]) == ("card_check", "success")
        assert (check["amount"], check["gateway_code"]) == (0, "00")

    def test_returns_the_recommendation_for_a_declined_card(self, api):
        source = orders.card_source(pan=orders.DECLINED_CARD)

        check = api.post("/api/payments", orders.card_check(source=source)).json()

        assert set(check) == FIELDS - {"authorization_code"} | {"gateway_recommendation"}
        assert (check["status"], check["response_code"]) == ("failed", "20051")
        assert (check["gateway_code"], check["gateway_recommendation"]) == ("51", "retry")

    @pytest.mark.parametrize(
        ("number", "code"),
        [
            (orders.GOOD_CARD, "10000"),
            (orders.CHALLENGED_CARD, "10000"),
            (orders.FRICTIONLESS_CARD, "10000"),
            (orders.UNRECOGNISED_CARD, "20151"),
        ],
    )
    def test_supports_the_test_cards(self, api, number, code):
        check = api.post("/api/payments", orders.card_check(source=orders.card_source(pan=number))).json()

        assert check["response_code"] == code

    def test_detects_an_expired_card(self, api):
        source = orders.card_source(expiry_year="2020")

        check = api.post("/api/payments", orders.card_check(source=source)).json()

        assert (check["response_code"], check["response_summary"]) == ("20054", "Declined - Expired card")

    def test_generates_a_missing_reference(self, api):
        order = orders.card_check(reference=...)

        first, second = api.post("/api/payments", order), api.post("/api/payments", order)

        assert re.fullmatch(r"chk_[A-Za-z0-9]+", first.json()["reference"])
        assert first.json()["reference"] != second.json()["reference"]
        assert api.get(first["Location"]).json() == first.json()

    @pytest.mark.parametrize("amount", [0, 0.0])
    def test_accepts_a_zero_amount(self, api, amount):
        assert api.post("/api/payments", orders.card_check(amount=amount)).status_code == 201

    @pytest.mark.parametrize("amount", [1, 50_000, -1, "0", None])
    def test_rejects_any_other_amount(self, api, amount):
        answer = api.post("/api/payments", orders.card_check(amount=amount))

        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == ["amount"]
        assert not Transaction.objects.exists()

    @pytest.mark.parametrize("kind", ["CARD", "card", "Card"])
    def test_accepts_its_source_type_in_any_case(self, api, kind):
        check = api.post("/api/payments", orders.card_check(source=orders.card_source(type=kind))).json()

        assert check["source"]["type"] == "card"

    @pytest.mark.parametrize("action", ["capture", "void"])
    def test_cannot_be_captured_or_voided(self, api, action):
        check = api.post("/api/payments", orders.card_check()).json()

        answer = api.post(f"/api/payments/{check['reference']}/{action}")

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")

    def test_cannot_be_refunded(self, api):
        check = api.post("/api/payments", orders.card_check()).json()
        wanted = {"reference": orders.new_reference()}

        answer = api.post(f"/api/payments/{check['reference']}/refunds", wanted)

        assert (answer.status_code, answer.json()["code"]) == (409, "not_refundable")
