import pytest

from tests import orders

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("journey")]


class TestFirstPayment:
    def test_is_signed_sent_and_looked_up(self, service):
        order = orders.card_payment()

        created = service.client.post("/api/payments", order)
        found = service.client.get(f"/api/payments/{order['reference']}")

        assert created.status_code == 201
        assert created.json()["status"] == "success"
        assert found.json() == created.json()
