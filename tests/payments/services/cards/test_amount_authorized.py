"""`amount_authorized` of card payments with `capture: false`, in responses and in events."""

import json

import pytest
from django.core.management import call_command

from tests import orders
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


def authorise(api, amount=50_000, **changes):
    order = orders.card_payment(capture=False, amount=amount, **changes)
    api.post("/api/payments", order)
    return f"/api/payments/{order['reference']}"


def event_data():
    return json.loads(Delivery.objects.get().body)["data"]


class TestAnswer:
    def test_is_present_once_authorised(self, api):
        address = authorise(api)
        authorised = api.get(address).json()
        captured = api.post(f"{address}/capture", {"amount": 20_000}).json()
        api.post(f"{address}/refunds", {"reference": "rf-1"})

        shown = [authorised, captured, api.get(address).json()]
        assert [each["amount_authorized"] for each in shown] == [50_000] * 3
        assert [each["total_amount_captured"] for each in shown] == [0, 20_000, 20_000]

    def test_is_present_while_a_capture_is_unknown(self, api):
        address = authorise(api)

        assert api.post(f"{address}/capture", {"amount": 20_098}).json()["amount_authorized"] == 50_000

    @pytest.mark.parametrize(
        "changes",
        [
            {"amount": 10_051},
            {"amount": 10_098},
            {"three_ds": {"enabled": True, "challenge_preference": "challenge_mandated"}},
        ],
        ids=["declined", "unknown", "challenged"],
    )
    def test_is_absent_before_approval(self, api, changes):
        assert "amount_authorized" not in api.get(authorise(api, **changes)).json()

    def test_is_present_once_a_lost_authorisation_is_known(self, api):
        address = authorise(api, amount=10_098)
        call_command("requery_pending")

        assert api.get(address).json()["amount_authorized"] == 10_098

    @pytest.mark.parametrize("order", [orders.card_payment(), orders.payout(), orders.card_check()])
    def test_is_absent_for_immediate_captures(self, api, order):
        assert "amount_authorized" not in api.post("/api/payments", order).json()


class TestEvent:
    def test_of_a_capture_contains_it(self, api, ada):
        make_endpoint(business=ada.business)
        address = authorise(api)
        api.post(f"{address}/capture", {"amount": 20_000})

        data = event_data()
        assert (data["amount_authorized"], data["total_amount_captured"]) == (50_000, 20_000)
        assert data == api.get(address).json()

    def test_of_a_void_omits_it(self, api, ada):
        make_endpoint(business=ada.business)
        address = authorise(api)
        api.post(f"{address}/void")

        assert "amount_authorized" not in event_data()
