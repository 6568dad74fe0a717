import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments import fees
from tests import orders

AMOUNTS = st.integers(min_value=1, max_value=10**12)


class TestCardFee:
    @pytest.mark.parametrize(
        ("amount", "fee"),
        [
            (1, 0),
            (33, 0),
            (34, 1),  # 0.51, rounded up
            (100, 2),  # 1.5, half is rounded up
            (249_999, 3_750),
            (250_000, 13_750),
            (12_666_666, 200_000),
            (12_666_633, 199_999),
            (10**12, 200_000),
        ],
    )
    def test_is_a_share_plus_a_fixed_part_up_to_a_cap(self, amount, fee):
        assert fees.fee(fees.CARD, amount) == fee

    @given(AMOUNTS)
    def test_is_a_whole_number_that_never_exceeds_its_cap(self, amount):
        fee = fees.fee(fees.CARD, amount)

        assert isinstance(fee, int)
        assert 0 <= fee <= 200_000

    @given(AMOUNTS)
    def test_never_falls_when_the_amount_grows(self, amount):
        assert fees.fee(fees.CARD, amount) <= fees.fee(fees.CARD, amount + 1)


class TestPayoutFee:
    @given(AMOUNTS)
    def test_is_one_of_three(self, amount):
        expected = 1_000 if amount <= 500_000 else 2_500 if amount <= 5_000_000 else 5_000
        assert fees.payout_fee(amount) == expected


@pytest.mark.django_db
class TestFeeOfAPayment:
    def test_stands_in_the_answer_of_a_success(self, api):
        assert api.post("/api/payments", orders.card_payment(amount=300_000)).json()["fee"] == 14_500

    @pytest.mark.parametrize("changes", [{"amount": 300_051}, {"amount": 300_098}, {"capture": False}])
    def test_is_nothing_before_and_without_success(self, api, changes):
        assert api.post("/api/payments", orders.card_payment(**changes)).json()["fee"] == 0
