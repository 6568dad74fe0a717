"""The connector of a business, and that a transaction stays with the one it was sent to."""

from datetime import timedelta
from io import StringIO
from urllib.parse import urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management import call_command
from django.db import IntegrityError
from django.db import transaction as database
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kit.connectors import connectors
from merchants.models import AuditEntry
from merchants.people.audit import Actor
from operations import doctor_checks
from payments.models import AccountDeclaration, CardOperation, Proposal, RailChoice, Transaction
from payments.rails.iso8583 import Iso8583Acquirer
from payments.services.rails import rail_choices
from payments.services.rails.declared_accounts import cached_declarations
from payments.services.rails.requery import requery_due
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.ledger.tampering import tampering
from tests.simulators import (
    HTTP_BANK,
    ISO8583,
    acquirer_connected,
    acquirer_running,
    bank_running,
    connected_bank,
    plan,
    short_acquirer_timeout,
)

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

PAYMENTS = "/api/payments"
SANDBOX = "sandbox"
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
        "name",
        ["no.such.module", "os.abort", "payments.rails.sandbox.SandboxAcquirer", "nonsense", "http", ISO8583],
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


class TestRailNotUsed:
    def test_returns_503_also_to_a_business_with_its_own_connectors(self, ada, api, clock, settings):
        choose(ada.business, clock, card_acquirer="sandbox", payout_bank="sandbox")
        settings.RAILS_NOT_USED = ["cards", "payouts"]

        answers = [api.post(PAYMENTS, order) for order in (orders.card_payment(), orders.payout())]

        assert [answer.json()["code"] for answer in answers] == ["rail_unavailable"] * 2
        assert not Transaction.objects.exists()


class TestAccount:
    """An order is only ever told to the account that it was sent to, whatever the settings say now."""

    @pytest.fixture
    def elsewhere(self, settings):
        """Another bank and another acquirer, which know nothing of what the first ones have."""
        with bank_running(settings) as second_bank, acquirer_running() as second_acquirer:
            yield second_bank, second_acquirer

    def test_of_a_payout_is_never_replaced_by_that_of_another_bank(self, api, bank, settings, elsewhere):
        second, _ = elsewhere
        with connected_bank(settings, bank):
            plan(bank, "lose_and_cut")
            order = orders.payout()
            assert api.post(PAYMENTS, order).json()["status"] == "pending"
        with connected_bank(settings, second):
            call_command("requery_pending", stdout=StringIO(), stderr=StringIO())
            assert api.get(f"{PAYMENTS}/{order['reference']}").json()["status"] == "pending"
            assert second.books.paid(Transaction.objects.get().pk.hex) == 0
            [found] = doctor_checks._accounts(timezone.now())
            assert f"1 order waits for http:127.0.0.1:{urlsplit(bank.url).port}/sluice" in found.said
        with connected_bank(settings, bank):
            call_command("requery_pending", stdout=StringIO(), stderr=StringIO())
            assert list(doctor_checks._accounts(timezone.now())) == []

        assert api.get(f"{PAYMENTS}/{order['reference']}").json()["status"] == "success"

    def test_of_a_refund_by_transfer_is_never_replaced(self, api, bank, settings, elsewhere):
        second, _ = elsewhere
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
        order = orders.transfer_payment(account, amount=50_000)
        number = api.post(PAYMENTS, order).json()["virtual_account_details"]["account_number"]
        sender = {"sender_account_number": "0123456789", "sender_bank_code": "058", "sender_name": "Bisi Ade"}
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 50_000} | sender)
        with connected_bank(settings, bank):
            plan(bank, "lose_and_cut")
            refund = {"reference": "rf-1", "amount": 20_000}
            made = api.post(f"{PAYMENTS}/{order['reference']}/refunds", refund)
            assert made.json()["status"] == "pending"
        with connected_bank(settings, second):
            call_command("requery_pending", stdout=StringIO(), stderr=StringIO())

            assert second.books.paid(CardOperation.objects.get().pk.hex) == 0
            assert api.get("/api/refunds/rf-1").json()["status"] == "pending"

    @pytest.mark.parametrize("changed", ["host", "terminal"])
    def test_of_a_card_payment_is_never_replaced(self, api, acquirer, settings, elsewhere, changed):
        """Neither a reversal, nor a capture, nor a refund reaches another acquirer or terminal."""
        _, second = elsewhere
        open_payment, authorised, paid = (
            orders.card_payment(),
            orders.card_payment(capture=False),
            orders.card_payment(),
        )
        for order in (authorised, paid):
            api.post(PAYMENTS, order)
        acquirer.plan("swallow")
        with short_acquirer_timeout():
            assert api.post(PAYMENTS, open_payment).json()["status"] == "pending"
        before = len(acquirer.simulator.received)

        with acquirer_connected(settings, second if changed == "host" else acquirer):
            if changed == "terminal":
                settings.ACQUIRER_TERMINAL_ID = "SLUICE02"
            call_command("requery_pending", stdout=StringIO(), stderr=StringIO())
            captured = api.post(f"{PAYMENTS}/{authorised['reference']}/capture")
            voided = api.post(f"{PAYMENTS}/{authorised['reference']}/void")
            refunded = api.post(f"{PAYMENTS}/{paid['reference']}/refunds", {"reference": "rf", "amount": 100})

            assert [each.status_code for each in (captured, voided, refunded)] == [503] * 3
            assert api.get(f"{PAYMENTS}/{open_payment['reference']}").json()["status"] == "pending"
            sent = second.simulator.received if changed == "host" else acquirer.simulator.received[before:]
            assert [kind for kind in sent if kind != "0800"] == []

    @pytest.mark.parametrize("change", [{"account": "http:elsewhere"}, {"connector": "sandbox"}])
    def test_is_kept_by_the_database(self, api, bank, change):
        api.post(PAYMENTS, orders.payout())

        with pytest.raises(IntegrityError), database.atomic():
            Transaction.objects.update(**change)

    def test_that_was_not_stored_is_that_of_the_connector(self, api, bank):
        """Payouts from before release 0.2 are finished by the bank of the settings."""
        plan(bank, "lose_and_cut")
        order = orders.payout()
        api.post(PAYMENTS, order)
        with tampering("UPDATE payments_transaction SET account = ''"):
            call_command("requery_pending", stdout=StringIO(), stderr=StringIO())

            assert api.get(f"{PAYMENTS}/{order['reference']}").json()["status"] == "success"

    def test_remains_after_the_key_has_changed(self, api, bank, settings):
        plan(bank, "lose_and_cut")
        order = orders.payout()
        api.post(PAYMENTS, order)
        bank.key = "another-key-of-the-same-account"
        with connected_bank(settings, bank):
            call_command("requery_pending", stdout=StringIO(), stderr=StringIO())

        assert api.get(f"{PAYMENTS}/{order['reference']}").json()["status"] == "success"


class TestMovedAccount:
    """Two people declare that a new address is the account that orders were sent to."""

    @pytest.fixture(autouse=True)
    def _four_eyes(self, settings):
        settings.FOUR_EYES = True

    @pytest.fixture
    def people(self):
        return [
            signed_in(
                UserFactory(email=f"{name}@example.com", is_staff=True, is_superuser=True), client=Client()
            )
            for name in ("first", "second")
        ]

    @pytest.fixture
    def payout(self, api, bank, settings):
        """A payout of unknown outcome, whose bank has a new address since."""
        plan(bank, "lose_and_cut")
        api.post(PAYMENTS, orders.payout())
        settings.BANK_URL = bank.url.replace("127.0.0.1", "localhost")
        connectors._made.cache_clear()
        return Transaction.objects.get()

    def declare(self, client, payout):
        form = {"connector": "http", "former": payout.account, "reason": "The bank renamed its host"}
        return client.post("/admin/payments/accountdeclaration/add/", form, follow=True).content.decode()

    def confirm(self, client):
        proposal = Proposal.objects.get()
        return client.post(f"/admin/payments/proposal/{proposal.pk}/confirm/", follow=True).content.decode()

    def requery(self, payout, **after):
        """Query what is due after a time."""
        now = timezone.now() + timedelta(**after)
        list(requery_due(clock=lambda: now))
        payout.refresh_from_db()
        return payout.status

    def test_is_asked_once_a_second_person_confirms(self, people, payout):
        first, second = people
        assert self.requery(payout, minutes=1) == "pending"
        shown = first.get(f"/admin/payments/transaction/{payout.pk}/change/").content.decode()
        assert f"This was sent to <strong>{payout.account}</strong>" in shown
        assert "Orders that wait for another account" in first.get("/admin/").content.decode()

        assert "awaits another person" in self.declare(first, payout)
        assert self.requery(payout, minutes=10) == "pending"
        page = second.get(f"/admin/payments/proposal/{Proposal.objects.get().pk}/change/").content.decode()
        assert f"Orders that were sent to {payout.account} are queried" in page
        assert "confirmed and performed" in self.confirm(second)

        assert self.requery(payout) == "success"
        shown = first.get(f"/admin/payments/transaction/{payout.pk}/change/").content.decode()
        assert "Waits for another account" not in shown
        assert AuditEntry.objects.get(action="account.declared").actor == "second@example.com"

    def test_is_queried_at_once_though_its_next_query_is_hours_away(self, people, payout):
        first, second = people
        Transaction.objects.update(next_query_at=timezone.now() + timedelta(hours=12), queries_made=7)
        self.declare(first, payout)
        self.confirm(second)

        assert self.requery(payout) == "success"

    def test_is_refused_if_another_account_is_configured_since(self, people, payout, settings):
        first, second = people
        self.declare(first, payout)
        settings.BANK_CLIENT_ID = "another"
        connectors._made.cache_clear()

        assert "configured account was" in self.confirm(second)
        assert not AccountDeclaration.objects.exists()

    def test_is_not_confirmed_by_the_person_who_declares_it(self, people, payout):
        first, _ = people
        self.declare(first, payout)

        assert "Another person must confirm" in self.confirm(first)
        assert not AccountDeclaration.objects.exists()

    def test_is_not_declared_if_nothing_was_sent_there(self, people, payout):
        payout.account = "http:elsewhere:443/sluice"

        assert "No order was sent to this account" in self.declare(people[0], payout)
        assert not Proposal.objects.exists()

    def test_is_not_declared_if_nothing_waits(self, people, payout, bank, settings):
        settings.BANK_URL = bank.url
        connectors._made.cache_clear()

        assert "This is the configured account already" in self.declare(people[0], payout)
        assert not Proposal.objects.exists()

    def test_that_moved_twice_is_asked(self, payout):
        """From the first address to the second, and from there to the present one."""
        first, middle, last = (
            payout.account,
            "http:middle:443/sluice",
            payout.account.replace("127.0.0.1", "localhost"),
        )
        for former, present in ((middle, last), (first, middle)):
            store_declaration("http", former, present)

        assert self.requery(payout, minutes=1) == "success"

    def test_of_another_connector_is_not_the_same(self, payout):
        store_declaration("iso8583", payout.account, payout.account.replace("127.0.0.1", "localhost"))

        assert self.requery(payout, minutes=1) == "pending"

    def test_that_is_back_is_asked_within_minutes(self, payout, bank, settings):
        """Waiting doesn't lengthen the interval of the queries, because the bank isn't asked."""
        for hours in range(1, 9):
            assert self.requery(payout, hours=hours) == "pending"
        assert payout.queries_made == 0
        settings.BANK_URL = bank.url
        connectors._made.cache_clear()

        assert self.requery(payout, hours=8, minutes=3) == "success"


def store_declaration(connector, former, present):
    AccountDeclaration.objects.create(
        connector=connector, former=former, present=present, declared_by="x", declared_at=timezone.now()
    )
    cached_declarations.cache_clear()


class TestUnusableConnector:
    @pytest.mark.parametrize("name", ["no.such.module", "os.abort", "subprocess.Popen", ISO8583])
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
        assert b"is not one of the available choices" in answer.content
        assert not RailChoice.objects.exists()
