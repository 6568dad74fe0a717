"""`manage.py doctor --connector checkout`: one harmless call, and advice in the words of their dashboard."""

import json
from contextlib import suppress
from io import StringIO

import pytest
from django.core.management import call_command

from connectors.checkout import examination
from connectors.checkout.cards import CheckoutAcquirer
from tests.connectors.checkout.connecting import connected


@pytest.fixture
def transport(settings, simulator, monkeypatch):
    acquirer, transport = connected(settings, simulator)
    settings.CHECKOUT_WEBHOOK_KEYS = ["webhook-key"]
    monkeypatch.setattr(examination, "CheckoutAcquirer", lambda: acquirer)
    return transport


def findings():
    output = StringIO()
    with suppress(SystemExit):
        call_command("doctor", "--connector", "checkout", "--json", stdout=output)
    return {each["check"]: each for each in json.loads(output.getvalue())["findings"]}


def test_finds_nothing_wrong_and_charges_nothing(transport, simulator):
    found = findings()

    assert {each["severity"] for each in found.values()} == {"fine"}
    assert transport.calls() == ["GET payments"]
    assert not simulator.account.payments


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        ("error 401", "Developers → Keys"),
        ("error 403", "scope gateway"),
        ("error 502", "Check the network"),
        ("swallow", "Check the network"),
    ],
)
def test_says_why_the_call_fails(transport, simulator, fault, advice):
    simulator.plan.add(fault)

    found = findings()["checkout payments"]

    assert found["severity"] == "broken"
    assert advice in found["advice"]


def test_missing_webhook_key_is_a_warning(transport, settings):
    settings.CHECKOUT_WEBHOOK_KEYS = []

    found = findings()["checkout webhooks"]

    assert found["severity"] == "warning"
    assert "/connectors/checkout" in found["advice"]


def test_missing_settings_are_named(settings, monkeypatch):
    monkeypatch.setattr(examination, "CheckoutAcquirer", CheckoutAcquirer)
    settings.CHECKOUT_SECRET_KEY = ""

    assert "CHECKOUT_SECRET_KEY" in findings()["checkout settings"]["said"]
