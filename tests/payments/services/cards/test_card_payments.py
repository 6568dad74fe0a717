import pytest

from payments.models import Transaction
from tests import orders


@pytest.mark.django_db
class TestCardPayment:
    def test_succeeds_at_once(self, api):
        order = orders.card_payment(amount=50_000)

        answer = api.post("/api/payments", order)

        assert answer.status_code == 201
        assert answer["Location"] == f"/api/payments/{order['reference']}"
        payment = answer.json()
        assert payment["status"] == "success"
        assert payment["response_code"] == "10000"
        assert payment["response_summary"] == "Payment completed"
        assert payment["total_amount_captured"] == 50_000
        assert Transaction.objects.get().transitions.count() == 1

    @pytest.mark.parametrize(
        ("amount", "code"),
        [
            (10_005, "20005"),
            (10_041, "20041"),
            (10_043, "20043"),
            (10_051, "20051"),
            (10_083, "20083"),
            (10_030, "20030"),
        ],
    )
    def test_is_declined_by_amount(self, api, amount, code):
        payment = api.post("/api/payments", orders.card_payment(amount=amount)).json()

        assert (payment["status"], payment["response_code"]) == ("failed", code)
        assert payment["gateway_code"] == f"{amount % 100:02}"

    def test_repeated_request_is_a_replay(self, api):
        order = orders.card_payment()

        first = api.post("/api/payments", order)
        again = api.post("/api/payments", order)

        assert (first.status_code, again.status_code) == (201, 200)
        assert again["Idempotent-Replayed"] == "true"
        assert again.json() == first.json()
        assert Transaction.objects.count() == 1
