"""The answer of each flow, field by field, as the interface document lists them."""

import re
import uuid

import pytest

from tests import orders

ALWAYS = {
    "request_type": str, "id": str, "reference": str, "status": str, "response_code": str,
    "response_summary": str, "amount": int, "currency": str, "payment_timestamp": str,
}  # fmt: skip
OF_PAYMENTS = {
    "fee": int, "refund_status": str, "source": dict, "total_amount_captured": int,
    "total_amount_available_to_refund": int, "total_amount_refunded": int,
}  # fmt: skip
APPROVED = {
    "gateway_code": str, "acquirer_transaction_id": str, "authorization_code": str,
    "retrieval_reference_number": str, "system_trace_audit_number": str,
}  # fmt: skip
DECLINED = {
    "gateway_code": str, "gateway_recommendation": str, "acquirer_transaction_id": str,
    "retrieval_reference_number": str, "system_trace_audit_number": str,
}  # fmt: skip


def types(answer):
    return {name: type(value) for name, value in answer.items()}


@pytest.mark.django_db
class TestFields:
    def test_of_an_approved_card_payment(self, api):
        payment = api.post("/api/payments", orders.card_payment()).json()

        assert types(payment) == ALWAYS | OF_PAYMENTS | APPROVED | {"merchant_descriptor": str}
        assert payment["merchant_descriptor"] == "Ada Books"
        assert re.fullmatch(r"[0-9]{6}", payment["authorization_code"])
        assert re.fullmatch(r"[0-9]{6}", payment["system_trace_audit_number"])
        assert re.fullmatch(r"[0-9]{12}", payment["retrieval_reference_number"])
        assert payment["retrieval_reference_number"].endswith(payment["system_trace_audit_number"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", payment["payment_timestamp"])
        assert uuid.UUID(payment["id"]).version == 7

    def test_of_a_declined_card_payment(self, api):
        payment = api.post("/api/payments", orders.card_payment(amount=10_051)).json()

        assert types(payment) == ALWAYS | OF_PAYMENTS | DECLINED

    def test_of_a_card_payment_whose_answer_is_lost(self, api):
        payment = api.post("/api/payments", orders.card_payment(amount=10_098)).json()

        assert types(payment) == ALWAYS | OF_PAYMENTS

    def test_of_a_challenged_card_payment(self, api):
        payment = api.post("/api/payments", orders.card_payment(three_ds={"enabled": True})).json()

        assert types(payment) == ALWAYS | OF_PAYMENTS | {"redirect_link": str}

    def test_of_an_authorised_card_payment(self, api):
        payment = api.post("/api/payments", orders.card_payment(capture=False)).json()

        assert types(payment) == ALWAYS | OF_PAYMENTS | APPROVED | {"merchant_descriptor": str}

    def test_of_a_successful_payout(self, api):
        payout = api.post("/api/payments", orders.payout()).json()

        expected = {"fee": int, "customer": dict, "gateway_code": str, "acquirer_transaction_id": str}
        assert types(payout) == ALWAYS | expected

    def test_of_a_failed_payout(self, api):
        payout = api.post("/api/payments", orders.payout(amount=10_051)).json()

        expected = {"fee": int, "customer": dict, "gateway_code": str, "gateway_recommendation": str}
        assert types(payout) == ALWAYS | expected

    def test_of_a_refund(self, api):
        order = orders.card_payment()
        api.post("/api/payments", order)

        refund = api.post(f"/api/payments/{order['reference']}/refunds", {"reference": "rf"}).json()

        assert types(refund) == {
            "id": str, "reference": str, "payment_reference": str, "status": str, "response_code": str,
            "response_summary": str, "gateway_code": str, "amount": int, "currency": str, "created_at": str,
        }  # fmt: skip


@pytest.mark.django_db
class TestSource:
    def test_shows_the_card_without_its_number_and_cvv(self, api):
        answer = api.post("/api/payments", orders.card_payment())

        assert answer.json()["source"] == {
            "type": "card",
            "card_type": "VISA",
            "card_bin": "408408",
            "card_last4": "4081",
            "expiry_month": "12",
            "expiry_year": "2035",
        }
        assert orders.GOOD_CARD not in answer.content.decode()


@pytest.mark.django_db
class TestCustomer:
    def test_is_shown_with_the_merchants_reference(self, api):
        customer = {"reference": "c-7", "email": "ada@example.com", "name": "Ada Obi"}

        payment = api.post("/api/payments", orders.card_payment(customer=customer)).json()

        assert payment["customer"] == {"name": "Ada Obi", "merchant_reference": "c-7"}

    def test_is_shown_without_a_name_where_none_was_given(self, api):
        customer = {"reference": "c-7", "email": "ada@example.com"}

        payment = api.post("/api/payments", orders.card_payment(customer=customer)).json()

        assert payment["customer"] == {"merchant_reference": "c-7"}
