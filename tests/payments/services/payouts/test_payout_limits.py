"""Limits of payouts, as the API answers them."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.core.management import call_command
from django.db import connection

from payments.models import PayoutControls, PayoutLimitCheck, Transaction
from tests import orders
from tests.racing import racers
from tests.transactions import start

NOON = datetime(2026, 3, 2, 11, tzinfo=UTC)  # in Lagos


@pytest.fixture
def business(ada):
    return ada.business


def controls(business, **values):
    PayoutControls.objects.update_or_create(business=business, defaults=values)


def to(account_number, **changes):
    return orders.payout(
        customer={"name": "Ada Obi", "account_number": account_number, "bank_code": "058"}, **changes
    )


@pytest.mark.django_db
class TestLimits:
    def test_names_the_limit_that_a_payout_is_over(self, api, business):
        controls(business, per_day={"NGN": 500_000})
        api.post("/api/payments", orders.payout(amount=300_000))

        answer = api.post("/api/payments", orders.payout(amount=200_001))

        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (409, "payout_limit_reached")
        ends_at = problem["limit"].pop("ends_at")
        assert problem["limit"] == {"name": "per_day", "amount": 500_000, "used": 300_000, "left": 200_000}
        assert ends_at.endswith("T23:00:00.000Z")  # midnight in Lagos
        assert Transaction.objects.count() == 1
        assert api.post("/api/payments", orders.payout(amount=200_000)).status_code == 201

    def test_each_limit_counts_for_itself(self, business, subtests):
        start(to("0123456781", amount=90_000), business=business, now=NOON - timedelta(days=3))
        start(to("0123456782", amount=90_000), business=business, now=NOON - timedelta(days=3))
        start(to("0123456781", amount=40_000), business=business, now=NOON)
        over = {
            "per_payout": ({"NGN": 50_000}, to("0123456781", amount=50_001)),
            "per_day": ({"NGN": 90_000}, to("0123456782", amount=50_001)),
            "per_beneficiary_and_day": ({"NGN": 90_000}, to("0123456781", amount=50_001)),
            "number_per_day": (1, to("0123456782", amount=1)),
            "new_beneficiaries": ({"NGN": 50_000}, to("0123456783", amount=50_001)),
        }
        for name, (limit, order) in over.items():
            with subtests.test(name):
                PayoutControls.objects.all().delete()
                controls(business, **{name: limit})

                with pytest.raises(Exception, match="limit") as refused:
                    start(order, business=business, now=NOON)

                assert refused.value.extra["limit"]["name"] == name

    def test_known_accounts_are_not_new_after_a_day(self, business):
        controls(business, new_beneficiaries={"NGN": 50_000})
        first = start(to("0123456781", amount=50_000), business=business, now=NOON)

        with pytest.raises(Exception, match="New beneficiaries") as refused:
            start(to("0123456781", amount=1), business=business, now=NOON + timedelta(hours=23))

        assert refused.value.extra["limit"]["left"] == 0
        assert first.status == "success"
        assert start(to("0123456781", amount=90_000), business=business, now=NOON + timedelta(hours=24))

    def test_days_are_those_of_the_business(self, business):
        business.time_zone = "America/Sao_Paulo"  # UTC-3
        business.save()
        controls(business, number_per_day=1)
        start(orders.payout(), business=business, now=datetime(2026, 3, 2, 2, 59, tzinfo=UTC))

        start(orders.payout(), business=business, now=datetime(2026, 3, 2, 3, 0, tzinfo=UTC))

        with pytest.raises(Exception, match="Number per day") as refused:
            start(orders.payout(), business=business, now=datetime(2026, 3, 3, 2, 59, tzinfo=UTC))
        assert refused.value.extra["limit"]["ends_at"] == "2026-03-03T03:00:00.000Z"

    def test_failed_payouts_and_repeats_do_not_count(self, api, business):
        controls(business, per_day={"NGN": 250_000})
        api.post("/api/payments", orders.payout(amount=20_051))  # the bank refuses it
        order = orders.payout(amount=250_000)
        first = api.post("/api/payments", order)

        again = api.post("/api/payments", order)

        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json()["id"] == first.json()["id"]

    def test_of_the_operator_hold_whatever_owners_set(self, api, business):
        controls(business, per_payout={"NGN": 900_000}, caps={"per_payout": {"NGN": 1_000}}, ask_instead=True)

        answer = api.post("/api/payments", orders.payout(amount=1_001))

        assert answer.json()["limit"] == {
            "name": "per_payout",
            "amount": 1_000,
            "used": 0,
            "left": 1_000,
            "ends_at": None,
        }

    def test_are_stored_with_the_payout_for_check_ledger(self, api, business):
        controls(business, per_day={"NGN": 500_000}, number_per_day=3)

        made = api.post("/api/payments", orders.payout(amount=300_000)).json()

        check = PayoutLimitCheck.objects.get()
        assert str(check.transaction_id) == made["id"]
        assert (check.per_day, check.number_per_day, check.per_payout) == (500_000, 3, None)
        call_command("check_ledger")


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
def test_fifty_parallel_payouts_against_a_limit_that_fits_seven(business):
    controls(business, per_day={"NGN": 7 * 10_000})
    order = [orders.payout(amount=10_000) for _ in range(50)]

    with racers(50) as line:
        made = line.race(*[partial(start, each, business=business, now=NOON) for each in order])

    accepted = [each for each in made if isinstance(each, Transaction)]
    refused = [each for each in made if not isinstance(each, Transaction)]
    assert (len(accepted), len(refused)) == (7, 43)
    assert {each.get_codes() for each in refused} == {"payout_limit_reached"}
    assert Transaction.objects.filter(status="success").count() == 7
