"""Card refunds make a business owe at most what was agreed. NGN 1,000.00 by card is a net of NGN 985.00."""

from functools import partial

import pytest
from django.utils import timezone

from payments.models import CardOperation
from payments.services.refunds.refund_cover import InsufficientFunds
from tests import orders
from tests.factories import BusinessFactory
from tests.racing import racers
from tests.reserves import agree, released
from tests.transactions import captured_payment, refund

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.fixture
def business():
    return BusinessFactory()


def pay(business, amount=100_000):
    return captured_payment(business=business, now=timezone.now(), amount=amount)


class TestLimit:
    def test_is_the_furthest_below_zero(self, business):
        payment = pay(business)
        agree(business, negative_limit=500)

        with pytest.raises(InsufficientFunds):
            refund(payment, 99_001)
        assert not CardOperation.objects.exists()
        assert refund(payment, 99_000).resource.status == "success"

    def test_counts_the_reserve(self, business):
        agree(business, negative_limit=0, reserve_basis_points=10_000, reserve_days=1)
        payment = released(business).items.get().transaction

        assert refund(payment, 98_500).resource.status == "success"
        with pytest.raises(InsufficientFunds):
            refund(payment, 1)

    def test_of_another_currency_or_business_does_not_count(self, business):
        payment = pay(business)
        agree(BusinessFactory(), negative_limit=0)
        agree(business, currency="USD", negative_limit=0)

        assert refund(payment, 100_000).resource.status == "success"

    def test_is_refused_over_the_api(self, api, ada):
        order = orders.card_payment(amount=100_000)
        api.post("/api/payments", order)
        agree(ada.business, negative_limit=0)

        answer = api.post(
            f"/api/payments/{order['reference']}/refunds", {"reference": "r1", "amount": 100_000}
        )

        assert (answer.status_code, answer.json()["code"]) == (409, "insufficient_funds")

    @pytest.mark.django_db(transaction=True)
    def test_is_kept_by_concurrent_refunds_of_different_payments(self, business):
        """Tests that balances and pending refunds are read under the locks of the accounts."""
        agree(business, negative_limit=0)
        with racers(3) as threads:
            for _ in range(5):
                payments = [pay(business) for _ in range(3)]

                answers = threads.race(*[partial(refund, each, 100_000) for each in payments])

                refused = [each for each in answers if isinstance(each, InsufficientFunds)]
                assert len(refused) == 1
                refund(payments[answers.index(refused[0])], 95_500)
