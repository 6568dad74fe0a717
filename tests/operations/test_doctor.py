"""The doctor reports problems of an installation, each with advice."""

import json
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone

from config.models import beat
from config.version import VERSION
from dashboard.search import indexer
from kit.db.triggers import append_only
from merchants.models import ApiKey
from operations import doctor_checks
from operations.doctor_checks import Severity
from payments.models import CardOperation, RailBlock, Transaction
from tests import orders
from tests.webhooks.rows import make_delivery, make_endpoint
from virtual_accounts.models import ProviderMessage

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _alive():
    beat(now=timezone.now())


def examine():
    """Run the command; return its exit code, its findings by check, and what it printed."""
    out = StringIO()
    try:
        call_command("doctor", "--json", stdout=out)
    except SystemExit as end:
        code = end.code
    else:
        code = 0
    document = json.loads(out.getvalue())
    return code, {finding["check"]: finding for finding in document["findings"]}, out.getvalue()


class TestDoctor:
    def test_finds_nothing_in_a_healthy_installation(self, ada):
        code, findings, _ = examine()

        assert {
            check: finding["said"] for check, finding in findings.items() if finding["severity"] != "fine"
        } == {}
        assert code == Severity.FINE
        assert set(findings) >= {
            "settings", "disk", "database", "migrations", "triggers", "field keys", "worker", "deliveries",
            "pending", "ledger", "broker",
        }  # fmt: skip

    def test_omits_silenced_checks(self, settings):
        settings.SANDBOX = False

        reported = {finding.said.partition(":")[0] for finding in doctor_checks._settings()}

        assert reported
        assert not reported & set(settings.SILENCED_SYSTEM_CHECKS)

    @pytest.mark.parametrize(("rail", "held"), [("acquirer", "all card payments"), ("bank", "all payouts")])
    def test_says_what_a_blocked_account_refuses(self, rail, held):
        since = timezone.now() - timedelta(hours=1)
        RailBlock.objects.create(
            id=uuid4(),
            rail=rail,
            connector="paystack",
            account="paystack:1",
            reason="Key.",
            since=since,
            probed_at=since,
        )

        code, findings, _ = examine()

        assert code == Severity.BROKEN
        assert findings["blocked banks"]["said"] == f"paystack:1 has refused {held} for 1 hour: Key."

    def test_prints_readable_lines(self):
        out = StringIO()

        call_command("doctor", stdout=out)

        assert out.getvalue().endswith("Verdict: fine.\n")
        assert f"ok       version: Sluice {VERSION}.\n" in out.getvalue()
        assert "ok       migrations: All migrations are applied.\n" in out.getvalue()

    def finds(self, check, severity):
        code, findings, printed = examine()

        finding = findings[check]
        assert finding["severity"] == severity.name.lower()
        assert finding["advice"]
        assert code == severity
        return finding, printed

    def test_finds_an_unavailable_database(self, monkeypatch):
        def fail(*_args, **_kwargs):
            raise OperationalError("password authentication failed for user secret")

        monkeypatch.setattr(connection, "cursor", fail)

        _, printed = self.finds("database", Severity.BROKEN)
        assert "secret" not in printed

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no roles")
    def test_warns_in_production_about_a_superuser(self, settings):
        settings.SANDBOX = False
        with connection.cursor() as cursor:
            cursor.execute("CREATE ROLE sluice_test_superuser SUPERUSER")
            cursor.execute("CREATE ROLE sluice_test_plain")
            found = []
            for role in ("sluice_test_superuser", "sluice_test_plain"):
                cursor.execute(f"SET LOCAL ROLE {role}")
                found += doctor_checks._database()
                cursor.execute("RESET ROLE")

        roles = [finding for finding in found if finding.check == "database role"]
        assert [finding.severity for finding in roles] == [Severity.WARNING, Severity.FINE]
        assert "docs/operations.md" in roles[0].advice

    def test_finds_migrations_that_are_not_applied(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "unapplied_migrations", lambda _: ["payments.0009_more"])

        finding, _ = self.finds("migrations", Severity.BROKEN)
        assert "payments.0009_more" in finding["said"]

    def test_finds_a_missing_trigger(self, monkeypatch):
        monkeypatch.setattr(doctor_checks.triggers, "_registered", append_only("payments_nothing"))

        finding, _ = self.finds("triggers", Severity.BROKEN)
        assert "payments_nothing_no_update" in finding["said"]

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has CHECKs, and disables nothing.")
    @pytest.mark.parametrize(
        ("change", "trigger"),
        [
            ("ALTER TABLE ledger_posting DISABLE TRIGGER {}", "ledger_posting_no_update"),
            ("ALTER TABLE ledger_posting ENABLE REPLICA TRIGGER {}", "ledger_posting_no_delete"),
            ("DROP TRIGGER {} ON payments_transaction", "written_only_fees_of_successes_are_taxed"),
        ],
    )
    def test_finds_a_trigger_that_does_not_fire(self, change, trigger):
        with connection.cursor() as cursor:
            cursor.execute(change.format(trigger))

        finding, _ = self.finds("triggers", Severity.BROKEN)
        assert finding["said"].count(trigger) == 1

    def test_finds_secrets_that_no_key_can_decrypt(self, ada):
        ApiKey.objects.filter(pk=ada.pk).update(public_id="pk_sandbox_other")
        with connection.cursor() as cursor:
            cursor.execute("UPDATE merchants_apikey SET secret = 'gAAAAAnonsense'")

        _, printed = self.finds("field keys", Severity.BROKEN)
        assert "gAAAAA" not in printed

    @pytest.mark.parametrize("age", [None, timedelta(minutes=5)])
    def test_finds_stopped_workers(self, age):
        if age is None:
            connection.cursor().execute("DELETE FROM config_heartbeat")
        else:
            beat(now=timezone.now() - age)

        self.finds("worker", Severity.BROKEN)

    @pytest.mark.parametrize(
        ("late", "severity"),
        [(timedelta(minutes=2), Severity.WARNING), (timedelta(minutes=20), Severity.BROKEN)],
    )
    def test_finds_late_webhooks(self, ada, late, severity):
        make_delivery(make_endpoint(business=ada.business), next_attempt_at=timezone.now() - late)

        self.finds("deliveries", severity)

    def test_ignores_test_events(self, ada):
        late = timezone.now() - timedelta(minutes=20)
        make_delivery(make_endpoint(business=ada.business), next_attempt_at=late, subject=None)

        _, findings, _ = examine()

        assert findings["deliveries"]["severity"] == "fine"

    def test_finds_transactions_that_wait_for_their_rail(self, api):
        api.post("/api/payments", orders.card_payment(amount=10_098))
        Transaction.objects.update(created_at=timezone.now() - timedelta(hours=2))

        self.finds("pending", Severity.WARNING)

    def test_finds_refunds_without_an_answer(self, api, settings):
        order = orders.card_payment()
        api.post("/api/payments", order)
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
        api.post(f"/api/payments/{order['reference']}/refunds", {"reference": "rf", "amount": 100})
        CardOperation.objects.update(created_at=timezone.now() - timedelta(hours=2))

        finding, _ = self.finds("pending", Severity.WARNING)
        assert finding["said"].startswith("1 capture, void or refund has no response")

    def test_finds_messages_that_the_account_provider_has_not_answered(self, api):
        account = api.post("/api/virtual-accounts", orders.static_account()).json()
        api.post(f"/api/virtual-accounts/{account['reference']}/deactivate")
        long_ago = timezone.now() - timedelta(hours=2)
        ProviderMessage.objects.update(created_at=long_ago, next_attempt_at=long_ago)

        finding, _ = self.finds("pending", Severity.WARNING)
        assert finding["said"] == "1 message to the account provider has no response."

    def test_finds_a_wrong_clock(self, monkeypatch):
        monkeypatch.setattr(
            doctor_checks, "_clocks", lambda: [("the database", timezone.now() - timedelta(seconds=90))]
        )

        self.finds("clock", Severity.BROKEN)

    def test_finds_an_unavailable_broker(self, settings):
        settings.REDIS_URL = "redis://:hidden@127.0.0.1:1/0"

        _, printed = self.finds("broker", Severity.BROKEN)
        assert "hidden" not in printed

    @pytest.mark.parametrize(
        "url", ["redis://redis:6379/0", "redis://10.0.0.7", "rediss://user@cache.example.com/1"]
    )
    def test_warns_about_a_remote_redis_without_a_password(self, monkeypatch, settings, url):
        monkeypatch.setattr(doctor_checks.Redis, "ping", lambda _: True)
        monkeypatch.setattr(doctor_checks, "_clocks", list)
        settings.REDIS_URL = url

        self.finds("broker access", Severity.WARNING)

    @pytest.mark.parametrize(
        "url",
        [
            "redis://:secret@redis:6379/0",
            "redis://127.0.0.1",
            "redis://[::1]:6379/0",
            "unix:///run/redis.sock",
        ],
    )
    def test_accepts_a_redis_with_a_password_or_on_this_machine(self, monkeypatch, settings, url):
        monkeypatch.setattr(doctor_checks.Redis, "ping", lambda _: True)
        monkeypatch.setattr(doctor_checks, "_clocks", list)
        settings.REDIS_URL = url

        code, findings, _ = examine()

        assert "broker access" not in findings
        assert code == Severity.FINE

    @pytest.mark.parametrize(
        "url", ["https://sandbox.example.com", "http://8.8.8.8:8000", "http://[2606:4700::1111]"]
    )
    def test_warns_about_a_public_sandbox_that_calls_its_own_machine(self, settings, url):
        settings.PUBLIC_URL = url

        self.finds("webhook networks", Severity.WARNING)

    @pytest.mark.parametrize("network", ["fec0::/10", "64:ff9b::/96", "2002::/16", "8.0.0.0/5", "0.0.0.0/0"])
    def test_warns_about_a_public_sandbox_that_calls_networks_with_private_addresses(self, settings, network):
        settings.PUBLIC_URL, settings.WEBHOOK_ALLOW_CIDRS = "https://sandbox.example.com", [network]

        self.finds("webhook networks", Severity.WARNING)

    @pytest.mark.parametrize(
        ("url", "networks"),
        [
            ("http://127.0.0.1:8000", ["127.0.0.0/8"]),
            ("http://localhost:8000", ["127.0.0.0/8"]),
            ("http://10.0.0.7:8000", ["10.0.0.0/8"]),
            ("https://sandbox.example.com", []),
            ("https://sandbox.example.com", ["8.8.8.0/24"]),
            ("http://[64:ff9b::a00:7]:8000", ["10.0.0.0/8"]),  # NAT64 of 10.0.0.7
            ("http://[fec0::7]:8000", ["127.0.0.0/8"]),  # site-local
        ],
    )
    def test_accepts_webhooks_of_a_sandbox(self, settings, url, networks):
        settings.PUBLIC_URL, settings.WEBHOOK_ALLOW_CIDRS = url, networks

        code, findings, _ = examine()

        assert "webhook networks" not in findings
        assert code == Severity.FINE

    @pytest.mark.parametrize(("free", "severity"), [(5, Severity.WARNING), (1, Severity.BROKEN)])
    def test_finds_a_full_disk(self, monkeypatch, free, severity):
        monkeypatch.setattr(
            doctor_checks.shutil, "disk_usage", lambda _: SimpleNamespace(total=100, free=free)
        )

        self.finds("disk", severity)

    def test_finds_a_commit_that_waits_for_a_lost_standby(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "longest_commit_wait", lambda: 90.0)

        finding, _ = self.finds("standby", Severity.BROKEN)
        assert "for 1 minute" in finding["said"]

    def test_finds_a_search_that_is_behind(self, monkeypatch):
        monkeypatch.setattr(indexer, "lag", lambda **_: timedelta(minutes=3))

        self.finds("search", Severity.WARNING)

    def test_finds_an_unbalanced_ledger(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "drift", lambda: 1)

        self.finds("ledger", Severity.BROKEN)

    def test_reports_the_worst_severity(self):
        fine, warning, broken = (doctor_checks.Finding("x", severity, "") for severity in Severity)

        assert doctor_checks.worst([fine, broken, warning]) == Severity.BROKEN
        assert doctor_checks.worst([fine, warning]) == Severity.WARNING
        assert doctor_checks.worst([]) == Severity.FINE
