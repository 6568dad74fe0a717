"""`manage.py doctor --connector paystack`: harmless calls, and advice in the words of Paystack's dashboard."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from connectors.paystack.simulator import routes, tables
from tests.connectors.paystack.client import KEY
from tests.connectors.paystack.connected import paystack_connected

pytestmark = pytest.mark.django_db


@pytest.fixture
def paystack(settings, api):
    with paystack_connected(settings, api) as connected:
        yield connected


def findings(*, status=0):
    output = StringIO()
    if status:
        with pytest.raises(SystemExit) as ended:
            call_command("doctor", "--connector", "paystack", "--json", stdout=output)
        assert ended.value.code == status
    else:
        call_command("doctor", "--connector", "paystack", "--json", stdout=output)
    assert KEY not in output.getvalue()
    return {each["check"]: each for each in json.loads(output.getvalue())["findings"]}


def test_finds_nothing_wrong(paystack):
    found = findings()

    assert {each["severity"] for each in found.values()} == {"fine"}
    assert found["paystack balance"]["said"] == "The balance is NGN 1,000,000.00."
    assert paystack.books()["transfers"] == {}


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        ("refuse 401", "Copy the secret key from Settings → API Keys & Webhooks."),
        ("refuse 403", "IP whitelist"),
        ("fail 502", "Check the network"),
    ],
)
def test_says_why_calls_fail(paystack, fault, advice):
    paystack.plan(f"GET /balance: {fault}")

    found = findings(status=2)

    assert advice in found["paystack balance"]["advice"]


def test_finds_another_integration(paystack, settings):
    settings.PAYSTACK_INTEGRATION = "7"

    found = findings(status=2)

    assert "integration 463433" in found["paystack integration"]["advice"]


def test_warns_about_banks_that_paystack_does_not_have(paystack, monkeypatch):
    monkeypatch.setattr(tables, "BANKS", {code: bank for code, bank in tables.BANKS.items() if code != "058"})

    found = findings(status=1)

    assert "Guaranty Trust Bank" in found["paystack banks"]["said"]


def test_finds_transfers_that_wait_for_a_one_time_password(paystack):
    paystack.command(switch={"otp": True})
    paystack.pay_out()

    found = findings(status=2)

    assert found["paystack transfers"]["said"] == "A transfer waits for a one-time password."
    assert (
        "Settings → Preferences → Confirm transfers before sending" in found["paystack transfers"]["advice"]
    )


def test_works_where_transfers_cannot_be_listed(paystack, monkeypatch):
    others = [route for route in routes.ROUTES if (route.method, route.path) != ("GET", "/transfer")]
    monkeypatch.setattr(routes, "ROUTES", others)

    assert {each["severity"] for each in findings().values()} == {"fine"}


def test_names_a_missing_setting(paystack, settings):
    settings.PAYSTACK_SECRET_KEY = ""

    found = findings(status=2)

    assert "PAYSTACK_SECRET_KEY" in found["paystack settings"]["said"]


def test_warns_about_card_payments_of_payers_without_an_address(paystack, settings):
    settings.CARD_ACQUIRER, settings.PAYSTACK_FALLBACK_EMAIL = "paystack", ""

    found = findings(status=1)

    assert "PAYSTACK_FALLBACK_EMAIL" in found["paystack cards"]["advice"]
