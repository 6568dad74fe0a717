"""The fields of each flow's response, as listed in the interface document."""

import json
import re
import uuid

import pytest

from payments.models import Transaction
from payments.services.sandbox.sandbox_clock import advance
from tests import orders
from tests.settling import STAFF
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

ALWAYS = {
    "request_type": str, "id": str, "reference": str, "status": str, "response_code": str,
    "response_summary": str, "amount": int, "currency": str, "payment_timestamp": str,
}  # fmt: skip
FINAL = {"completed_at": str}
OF_PAYMENTS = {
    "payment_method": str, "fee": int, "refund_status": str, "source": dict, "total_amount_captured": int,
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

        assert types(payment) == ALWAYS | OF_PAYMENTS | APPROVED | FINAL | {"merchant_descriptor": str}
        assert payment["merchant_descriptor"] == "Ada Books"
        assert payment["payment_method"] == "card"
        assert re.fullmatch(r"[0-9]{6}", payment["authorization_code"])
        assert re.fullmatch(r"[0-9]{6}", payment["system_trace_audit_number"])
        assert re.fullmatch(r"[0-9]{12}", payment["retrieval_reference_number"])
        assert payment["retrieval_reference_number"].endswith(payment["system_trace_audit_number"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", payment["payment_timestamp"])
        assert uuid.UUID(payment["id"]).version == 7

    def test_of_a_declined_card_payment(self, api):
        payment = api.post("/api/payments", orders.card_payment(amount=10_051)).json()

        assert types(payment) == ALWAYS | OF_PAYMENTS | DECLINED | FINAL

    def test_of_a_card_payment_without_an_answer(self, api):
        payment = api.post("/api/payments", orders.card_payment(amount=10_098)).json()

        assert types(payment) == ALWAYS | OF_PAYMENTS

    def test_of_a_challenged_card_payment(self, api):
        payment = api.post("/api/payments", orders.card_payment(three_ds={"enabled": True})).json()

        assert types(payment) == ALWAYS | OF_PAYMENTS | {"redirect_link": str}

    def test_of_an_authorised_card_payment(self, api):
        payment = api.post("/api/payments", orders.card_payment(capture=False)).json()

        authorised = {"merchant_descriptor": str, "amount_authorized": int}
        assert types(payment) == ALWAYS | OF_PAYMENTS | APPROVED | authorised
        assert payment["amount_authorized"] == payment["amount"]

    def test_of_a_captured_authorisation_keep_the_authorised_amount(self, api):
        order = orders.card_payment(capture=False, amount=50_000)
        api.post("/api/payments", order)

        payment = api.post(f"/api/payments/{order['reference']}/capture", {"amount": 20_000}).json()

        assert (payment["amount_authorized"], payment["total_amount_captured"]) == (50_000, 20_000)

    @pytest.mark.parametrize("amount", [10_051, 10_098])
    def test_of_other_payments_have_no_authorised_amount(self, api, amount):
        payment = api.post("/api/payments", orders.card_payment(capture=False, amount=amount)).json()

        assert "amount_authorized" not in payment

    @pytest.mark.parametrize("end", ["void", "expiry"])
    def test_of_a_finished_authorisation_show_no_success(self, api, clock, end):
        order = orders.card_payment(capture=False)
        api.post("/api/payments", order)

        if end == "void":
            api.post(f"/api/payments/{order['reference']}/void")
        else:
            advance(Transaction.objects.get(), actor=STAFF, clock=lambda: clock.now)

        payment = api.get(f"/api/payments/{order['reference']}").json()
        assert payment["status"] == "failed"
        assert payment.keys().isdisjoint({"gateway_code", "authorization_code", "amount_authorized"})

    def test_of_an_authorisation_voided_by_an_earlier_release_show_no_success(self, api):
        order = orders.card_payment(capture=False)
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/void")
        Transaction.objects.update(gateway_code="00")

        assert "gateway_code" not in api.get(f"/api/payments/{order['reference']}").json()

    def test_of_a_successful_payout(self, api):
        payout = api.post("/api/payments", orders.payout()).json()

        expected = {"fee": int, "customer": dict, "gateway_code": str, "acquirer_transaction_id": str}
        assert types(payout) == ALWAYS | expected | FINAL

    def test_of_a_failed_payout(self, api):
        payout = api.post("/api/payments", orders.payout(amount=10_051)).json()

        expected = {"fee": int, "customer": dict, "gateway_code": str, "gateway_recommendation": str}
        assert types(payout) == ALWAYS | expected | FINAL

    def test_of_a_card_check(self, api):
        check = api.post("/api/payments", orders.card_check()).json()

        assert types(check) == ALWAYS | APPROVED | FINAL | {"source": dict}

    def test_of_a_transfer_payment(self, api):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
        order = orders.transfer_payment(account, narration="Two books")
        pending = api.post("/api/payments", order).json()
        number = pending["virtual_account_details"]["account_number"]
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": order["amount"]})

        expected = {
            "fee": int, "payment_method": str, "virtual_account_details": dict, "narration": str,
            "refund_status": str, "total_amount_available_to_refund": int, "total_amount_refunded": int,
        }  # fmt: skip
        paid = api.get(f"/api/payments/{order['reference']}").json()
        assert types(pending) == ALWAYS | expected
        assert types(paid) == ALWAYS | expected | FINAL
        assert (paid["payment_method"], paid["narration"]) == ("virtual_account", "Two books")

    @pytest.mark.parametrize("act", ["capture", "void"])
    def test_of_an_authorisation_have_the_time_of_completion_once_final(self, api, act):
        order = orders.card_payment(capture=False)
        pending = api.post("/api/payments", order).json()

        final = api.post(f"/api/payments/{order['reference']}/{act}").json()

        assert "completed_at" not in pending
        assert final["completed_at"] == api.get(f"/api/payments/{order['reference']}").json()["completed_at"]
        assert final["completed_at"] >= final["payment_timestamp"]

    def test_of_an_event_equal_those_of_the_response(self, api, ada):
        make_endpoint(business=ada.business)

        payment = api.post("/api/payments", orders.card_payment(narration="Two books")).json()

        event = json.loads(Delivery.objects.get().body)["data"]
        assert event == payment
        assert {"completed_at", "narration", "payment_method"} <= event.keys()

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
    def test_has_the_merchants_reference(self, api):
        customer = {"reference": "c-7", "email": "ada@example.com", "name": "Ada Obi"}

        payment = api.post("/api/payments", orders.card_payment(customer=customer)).json()

        assert payment["customer"] == {"name": "Ada Obi", "merchant_reference": "c-7"}

    def test_omits_a_missing_name(self, api):
        customer = {"reference": "c-7", "email": "ada@example.com"}

        payment = api.post("/api/payments", orders.card_payment(customer=customer)).json()

        assert payment["customer"] == {"merchant_reference": "c-7"}
