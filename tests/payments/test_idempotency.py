import json

import pytest

from payments.models import Transaction
from tests import orders


@pytest.mark.django_db
class TestSameRequest:
    def test_may_have_its_keys_in_another_order(self, api):
        order = orders.card_payment(customer={"reference": "c", "email": "c@example.com", "name": "C"})
        turned = dict(reversed(order.items()))
        turned["source"] = dict(reversed(order["source"].items()))

        first, again = api.post("/api/payments", order), api.post("/api/payments", turned)

        assert (first.status_code, again.status_code) == (201, 200)
        assert again["Idempotent-Replayed"] == "true"
        assert "Idempotent-Replayed" not in first
        assert again.json() == first.json()

    @pytest.mark.parametrize("spelling", ["1000.0", "1e3", "1000.000", "10E2"])
    def test_may_spell_its_amount_otherwise(self, api, spelling):
        order = orders.card_payment(amount=1000)
        body = json.dumps(order).replace('"amount": 1000', f'"amount": {spelling}').encode()

        first, again = api.post("/api/payments", order), api.post("/api/payments", body)

        assert (again.status_code, again.json()) == (200, first.json())
        assert isinstance(again.json()["amount"], int)

    @pytest.mark.parametrize("change", [{"cvv": "999"}, {"cvv": "1234"}, {"pan": "4084 0840 8408 4081"}])
    def test_may_have_another_cvv_or_spaces_in_its_number(self, api, change):
        order = orders.card_payment()

        first = api.post("/api/payments", order)
        again = api.post("/api/payments", order | {"source": orders.card_source(**change)})

        assert (again.status_code, again.json()) == (200, first.json())

    @pytest.mark.parametrize(
        "order",
        [
            orders.card_payment(amount=10_051),
            orders.payout(),
            orders.card_check(),
            orders.card_payment(amount=10_098),
        ],
    )
    def test_is_answered_with_what_the_first_became(self, api, order):
        first, again = api.post("/api/payments", order), api.post("/api/payments", order)

        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
        assert Transaction.objects.count() == 1

    def test_shows_the_resource_as_it_is_now(self, api):
        order = orders.card_payment(capture=False)
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/void")

        assert api.post("/api/payments", order).json()["response_code"] == "20090"


@pytest.mark.django_db
class TestDifferentRequest:
    @pytest.mark.parametrize(
        "change",
        [
            {"amount": 50_001},
            {"currency": "USD"},
            {"capture": False},
            {"narration": "other"},
            {"redirect_url": "https://shop.example/other"},
            {"three_ds": {"enabled": True}},
            {"payment_ip": "192.0.2.1"},
            {"customer": {"reference": "c", "email": "c@example.com"}},
            {"source": orders.card_source(pan=orders.DECLINED_CARD)},
            # First six and last four are those of the first card.
            {"source": orders.card_source(pan="4084088408404081")},
            {"source": orders.card_source(expiry_year="2036")},
            {"source": orders.card_source(billing_address={"city": "Lagos"})},
        ],
    )
    def test_with_the_same_reference_is_refused_with_the_firsts_id_and_status(self, api, change):
        order = orders.card_payment(reference="order-1")
        first = api.post("/api/payments", order).json()

        answer = api.post("/api/payments", orders.card_payment(reference="order-1", **change))

        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (409, "duplicate_reference")
        assert (problem["id"], problem["status"]) == (first["id"], "success")
        assert Transaction.objects.count() == 1
        assert orders.GOOD_CARD not in answer.content.decode()

    def test_of_another_kind_is_refused_too(self, api):
        wanted = [
            orders.card_payment(reference="order-1", amount=10_098),
            orders.payout(reference="order-1"),
            orders.card_check(reference="order-1"),
        ]
        first = api.post("/api/payments", wanted[0]).json()

        answers = [api.post("/api/payments", order) for order in wanted[1:]]

        assert [answer.status_code for answer in answers] == [409, 409]
        assert {answer.json()["id"] for answer in answers} == {first["id"]}
        assert {answer.json()["status"] for answer in answers} == {"pending"}

    def test_that_is_invalid_leaves_its_reference_free(self, api):
        invalid = api.post("/api/payments", orders.card_payment(reference="order-1", amount=0))
        valid = api.post("/api/payments", orders.card_payment(reference="order-1"))

        assert (invalid.status_code, valid.status_code) == (400, 201)


@pytest.mark.django_db
class TestStoredRow:
    def test_holds_no_card_number_and_no_cvv(self, api):
        api.post("/api/payments", orders.card_payment(source=orders.card_source(cvv="8317")))

        [row] = Transaction.objects.values_list()

        text = " ".join(map(str, row))
        assert orders.GOOD_CARD not in text
        assert "8317" not in row
