"""GET /api/capabilities: what the caller's connectors can do, by flow and currency."""

import pytest

from payments.models import RailChoice
from payments.services.rails import rail_choices
from tests import orders

CAPABILITIES = "/api/capabilities"
LARGEST = 10**12
FLOWS = ["card_payment", "card_check", "virtual_account_payment", "virtual_account", "payout"]
ANY_AMOUNT = {"minimum_amount": 1, "maximum_amount": LARGEST, "amount_multiple_of": 1}
ACQUIRER = {
    "hosted_only": False,
    "captures_later": True,
    "voids": True,
    "partial_refunds": True,
    "three_d_secure": "on_request",
}

pytestmark = pytest.mark.django_db


def shown(api):
    """Return what each flow and currency has, and that no other member is there."""
    answer = api.get(CAPABILITIES)
    assert answer.status_code == 200
    assert list(answer.json()) == ["data"]
    rows = answer.json()["data"]
    return {(row.pop("flow"), row.pop("currency")): row for row in rows}


def available(api, currency):
    return [flow for (flow, of), row in shown(api).items() if of == currency and row["available"]]


def test_of_the_sandbox_has_every_flow_in_each_currency_of_the_business(api):
    found = shown(api)

    assert list(found) == [(flow, currency) for flow in FLOWS for currency in ("NGN", "USD")]
    assert found["card_payment", "NGN"] == {"available": True, **ACQUIRER, **ANY_AMOUNT}
    assert found["card_check", "NGN"] == {"available": True}
    assert found["virtual_account_payment", "USD"] == {
        "available": True,
        "expiry_duration": {"minimum": 60, "maximum": 365 * 24 * 3600},
        **ANY_AMOUNT,
    }
    assert found["virtual_account", "USD"] == {"available": True}
    assert found["payout", "NGN"] == {"available": True, **ANY_AMOUNT}
    assert found["payout", "USD"] == {"available": False, **ANY_AMOUNT}  # no bank takes it


def test_of_limited_connectors_has_their_limits(api, settings):
    settings.CARD_ACQUIRER = "tests.rails.LimitedAcquirer"
    settings.PAYOUT_BANK, settings.ACCOUNT_PROVIDER = "tests.rails.LimitedBank", "tests.rails.LimitedProvider"

    found = shown(api)

    assert found["card_payment", "NGN"] == {
        "available": True,
        "hosted_only": False,
        "captures_later": False,
        "voids": False,
        "partial_refunds": False,
        "three_d_secure": "provider_decides",
        "minimum_amount": 5_000,
        "maximum_amount": 100_000,
        "amount_multiple_of": 100,
    }
    assert not found["card_check", "NGN"]["available"]
    assert found["virtual_account_payment", "NGN"] == {
        "available": True,
        "expiry_duration": {"minimum": 900, "maximum": 28_800},
        **ANY_AMOUNT,
        "minimum_amount": 10_000,
    }
    assert found["payout", "NGN"]["minimum_amount"] == 10_000
    assert available(api, "USD") == []


def test_of_a_hosted_acquirer_has_card_payments_but_no_card_checks(api, settings):
    settings.CARD_ACQUIRER = "tests.rails.HostedAcquirer"

    found = shown(api)

    assert (found["card_payment", "NGN"]["available"], found["card_payment", "NGN"]["hosted_only"]) == (
        True,
        True,
    )
    assert not found["card_check", "NGN"]["available"]


def test_without_connectors_nothing_is_available(api, settings):
    settings.CARD_ACQUIRER = settings.PAYOUT_BANK = settings.ACCOUNT_PROVIDER = ""

    found = shown(api)

    assert list(found) == [(flow, currency) for flow in FLOWS for currency in ("NGN", "USD")]
    assert all(row == {"available": False} for row in found.values())


def test_of_an_unreachable_acquirer_keeps_what_it_can_do(api, settings):
    settings.CARD_ACQUIRER = "tests.rails.UnreachableLimitedAcquirer"

    found = shown(api)["card_payment", "NGN"]

    assert (found["available"], found["minimum_amount"]) == (False, 5_000)


def test_is_of_the_businesss_own_connectors(ada, api, other_api):
    RailChoice.objects.create(business=ada.business, card_acquirer="tests.rails.LimitedAcquirer")
    rail_choices.cached_choices.cache_clear()

    assert shown(api)["card_payment", "NGN"]["minimum_amount"] == 5_000
    assert shown(other_api)["card_payment", "NGN"]["minimum_amount"] == 1


def test_names_no_connector(api, settings):
    settings.CARD_ACQUIRER = "tests.rails.LimitedAcquirer"

    text = api.get(CAPABILITIES).content.decode()

    assert not any(name in text for name in ("sandbox", "Limited", "iso8583"))


def test_agrees_with_what_requests_are_refused(api, settings):
    settings.CARD_ACQUIRER = "tests.rails.LimitedAcquirer"
    found = shown(api)["card_payment", "NGN"]

    for amount, expected in (
        (found["minimum_amount"], 201),
        (found["minimum_amount"] - found["amount_multiple_of"], 400),
        (found["maximum_amount"], 201),
        (found["maximum_amount"] + found["amount_multiple_of"], 400),
    ):
        assert api.post("/api/payments", orders.card_payment(amount=amount)).status_code == expected


def test_refuses_unknown_parameters(api):
    answer = api.get(f"{CAPABILITIES}?currency=NGN")

    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_field")


def test_needs_a_signature(client):
    assert client.get(CAPABILITIES).status_code == 401
