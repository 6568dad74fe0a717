"""The connector of a business, and that a transaction stays with the one it was sent to."""

import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.test import Client
from django.urls import reverse

from merchants.audit import Actor
from merchants.models import AuditEntry
from payments.models import RailChoice, Transaction
from payments.rails.iso8583 import Iso8583Acquirer
from payments.services import rail_choices
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.simulators import HTTP_BANK, ISO8583, short_acquirer_timeout

pytestmark = pytest.mark.django_db

PAYMENTS = "/api/payments"
SANDBOX = "payments.rails.sandbox.SandboxAcquirer"
STAFF = Actor(name="staff@example.com")


def choose(business, clock, **names):
    rail_choices.choose(RailChoice(business=business, **names), actor=STAFF, now=clock.now)


@pytest.fixture
def own_acquirer(acquirer, settings):
    """A running acquirer that no business uses by default."""
    settings.CARD_ACQUIRER = SANDBOX
    return acquirer


class TestChoice:
    def test_defaults_to_the_settings(self, api, own_acquirer):
        api.post(PAYMENTS, orders.card_payment())

        assert Transaction.objects.get().connector == "sandbox"
        assert own_acquirer.simulator.received == []

    def test_applies_to_one_business_only(self, ada, api, other_api, own_acquirer, clock):
        choose(ada.business, clock, card_acquirer=ISO8583)

        api.post(PAYMENTS, orders.card_payment(reference="hers"))
        other_api.post(PAYMENTS, orders.card_payment(reference="his"))

        sent_to = dict(Transaction.objects.values_list("reference", "connector"))
        assert sent_to == {"hers": "iso8583", "his": "sandbox"}

    def test_of_a_bank_does_not_affect_cards(self, ada, api, bank, settings, clock):
        settings.PAYOUT_BANK = ""
        choose(ada.business, clock, payout_bank=HTTP_BANK)

        assert api.post(PAYMENTS, orders.payout()).json()["status"] == "success"
        api.post(PAYMENTS, orders.card_payment())

        assert set(Transaction.objects.values_list("connector", flat=True)) == {"http", "sandbox"}

    def test_needs_no_query_once_cached(self, ada, own_acquirer, clock, django_assert_num_queries):
        choose(ada.business, clock, card_acquirer=ISO8583)
        rail_choices.acquirer_for(ada.business)

        with django_assert_num_queries(0):
            rail_choices.acquirer_for(ada.business)

    def test_is_in_the_audit_trail(self, ada, own_acquirer, clock):
        choose(ada.business, clock, card_acquirer=ISO8583)
        choose(ada.business, clock, card_acquirer="")

        first, second = AuditEntry.objects.filter(action="connectors.chosen").order_by("pk")
        assert (first.before, first.after) == ({}, {"card_acquirer": ISO8583, "payout_bank": ""})
        assert (second.before["card_acquirer"], second.after["card_acquirer"]) == (ISO8583, "")
        assert first.actor == "staff@example.com"

    @pytest.mark.parametrize(
        "name", ["no.such.module", "payments.rails.sandbox.Missing", "payments.rails", "nonsense", ISO8583]
    )
    def test_rejects_an_unusable_connector(self, ada, clock, name, settings):
        settings.ACQUIRER_HOST = ""

        with pytest.raises(ValidationError):
            choose(ada.business, clock, card_acquirer=name)

    def test_rejects_the_sandbox_in_production(self, ada, clock, settings):
        settings.SANDBOX = False

        with pytest.raises(ValidationError, match="production"):
            choose(ada.business, clock, card_acquirer=SANDBOX)


class TestTransaction:
    def test_is_queried_at_its_own_connector(self, ada, api, own_acquirer, clock):
        choose(ada.business, clock, card_acquirer=ISO8583)
        own_acquirer.plan("swallow")
        order = orders.card_payment()
        with short_acquirer_timeout():
            api.post(PAYMENTS, order)
        choose(ada.business, clock, card_acquirer="")

        acquirer = rail_choices.acquirer_of(Transaction.objects.get())

        assert acquirer.name == "iso8583"

    def test_is_captured_and_refunded_at_its_own_connector(self, ada, api, own_acquirer, clock):
        choose(ada.business, clock, card_acquirer=ISO8583)
        order = orders.card_payment(capture=False)
        api.post(PAYMENTS, order)
        choose(ada.business, clock, card_acquirer="")

        captured = api.post(f"{PAYMENTS}/{order['reference']}/capture")
        refunded = api.post(f"{PAYMENTS}/{order['reference']}/refunds", {"reference": "rf", "amount": 100})

        assert (captured.json()["status"], refunded.json()["status"]) == ("success", "success")
        assert own_acquirer.simulator.received == ["0800", "0100", "0220", "0200"]

    @pytest.mark.long
    def test_stays_pending_while_its_connector_is_unusable(self, ada, api, own_acquirer, clock, settings):
        """No other connector is queried, because it would report that there is no such payment."""
        choose(ada.business, clock, card_acquirer=ISO8583)
        order = orders.card_payment(capture=False)
        api.post(PAYMENTS, order)
        choose(ada.business, clock, card_acquirer="")
        own_acquirer.stop()

        answer = api.post(f"{PAYMENTS}/{order['reference']}/capture")

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert Transaction.objects.get().awaiting == "capture"


class TestUnusableConnector:
    @pytest.mark.parametrize("name", ["no.such.module", ISO8583])
    def test_returns_503_and_logs_the_reason(self, api, settings, name, caplog):
        settings.CARD_ACQUIRER, settings.ACQUIRER_HOST = name, ""

        answer = api.post(PAYMENTS, orders.card_payment())

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert "connector unusable" in caplog.text
        assert not Transaction.objects.exists()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"ACQUIRER_TERMINAL_ID": "TOO LONG BY FAR"},
            {"ACQUIRER_MERCHANT_ID": "X" * 16},
            {"ACQUIRER_INSTITUTION_ID": "1" * 12},
            {"ACQUIRER_HOST": ""},
        ],
    )
    def test_requires_its_settings(self, acquirer, settings, wrong):
        for name, value in wrong.items():
            setattr(settings, name, value)

        with pytest.raises(ImproperlyConfigured, match=next(iter(wrong))):
            Iso8583Acquirer()


class TestAdmin:
    @pytest.fixture
    def admin(self):
        return signed_in(
            UserFactory(email="staff@example.com", is_staff=True, is_superuser=True), client=Client()
        )

    def test_changes_and_audits_a_choice(self, ada, admin, own_acquirer):
        form = {
            "business": str(ada.business.pk),
            "card_acquirer": ISO8583,
            "payout_bank": "",
            "reason": "Theirs.",
        }

        answer = admin.post(reverse("admin:payments_railchoice_add"), form)

        assert answer.status_code == 302, answer.content
        assert rail_choices.acquirer_for(ada.business).name == "iso8583"
        assert AuditEntry.objects.get(action="connectors.chosen").actor == "staff@example.com"

    def test_explains_an_invalid_name(self, ada, admin):
        form = {"business": str(ada.business.pk), "card_acquirer": "no.such.module", "payout_bank": ""}

        answer = admin.post(reverse("admin:payments_railchoice_add"), form)

        assert answer.status_code == 200
        assert b"is not a connector" in answer.content
        assert not RailChoice.objects.exists()
