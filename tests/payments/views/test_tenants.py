import pytest

from payments.models import CardOperation, Transaction
from tests import orders

REFUND = {"reference": "rf-1", "amount": 100}


def without_request_id(answer):
    return {name: value for name, value in answer.json().items() if name != "request_id"}


@pytest.mark.django_db
class TestAnotherBusiness:
    @pytest.fixture
    def adas_payment(self, api):
        """An authorised payment of Ada's."""
        order = orders.card_payment(capture=False)
        assert api.post("/api/payments", order).status_code == 201
        return order["reference"]

    @pytest.mark.parametrize(
        ("method", "rest", "body"),
        [
            ("get", "", None),
            ("post", "/capture", {}),
            ("post", "/capture", {"amount": 10**12}),
            ("post", "/void", {}),
            ("post", "/refunds", REFUND),
            ("get", "/refunds", None),
        ],
    )
    def test_gets_the_same_response_as_for_an_unknown_payment(
        self, other_api, adas_payment, method, rest, body
    ):
        def ask(reference):
            target = f"/api/payments/{reference}{rest}"
            return other_api.get(target) if method == "get" else other_api.post(target, body)

        foreign, unknown = ask(adas_payment), ask("never-was")

        assert foreign.status_code == unknown.status_code == 404
        assert without_request_id(foreign) == without_request_id(unknown)
        assert Transaction.objects.get().awaiting == "capture"
        assert not CardOperation.objects.exists()

    def test_does_not_list_it(self, other_api, adas_payment):
        identifier = Transaction.objects.get().pk

        assert other_api.get("/api/payments").json()["data"] == []
        assert other_api.get(f"/api/payments?id={identifier}").json()["data"] == []

    def test_may_use_the_same_reference(self, api, other_api, adas_payment):
        answer = other_api.post("/api/payments", orders.payout(reference=adas_payment))

        assert answer.status_code == 201
        assert other_api.get(f"/api/payments/{adas_payment}").json()["request_type"] == "payout"
        assert api.get(f"/api/payments/{adas_payment}").json()["request_type"] == "payment"

    def test_may_use_the_same_refund_reference(self, api, other_api):
        answers = []
        for client in (api, other_api):
            order = orders.card_payment()
            client.post("/api/payments", order)
            answers.append(client.post(f"/api/payments/{order['reference']}/refunds", REFUND))

        assert [answer.status_code for answer in answers] == [201, 201]
        assert answers[0].json()["id"] != answers[1].json()["id"]
