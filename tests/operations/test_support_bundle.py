"""The support bundle contains the data needed for support, and no secrets."""

import errno
import io
import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as project
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.models import beat
from operations import support_bundle
from tests import orders
from tests.webhooks.rows import KEY, make_endpoint

pytestmark = pytest.mark.django_db

PAN = "4084084084084081"


@pytest.fixture
def log(tmp_path, ada):
    path = tmp_path / "web.log"
    path.write_text(
        "\n".join(
            [
                "an old line",
                *["filler"] * 1988,
                f"key {ada.secret} and {KEY}",
                f"card {PAN} cvv=408, spaced 4084 0840 8408 4081",
                "connecting to postgres://sluice:hunter2@db.internal/sluice",
                "Authorization: Bearer topsecrettoken",
                "Authorization: Basic a2VzdHJlbDpiYXNpYw==",
                "X-Collector-Key: kestrelcollector0123",
                "X-Signature: 33a01abee7855f5d3a5347e7438e6d434652501b9771b5ddc92cf13e8e1480b0",
                '{"password": "hunter2", "bvn": "22123456789"}',
                "field gAAAAABnQ0FuYXJ5Q2FuYXJ5Q2FuYXJ5Q2FuYXJ5",
                "GET /api/payments/order-7 by ada@example.com from 203.0.113.9",
                "the last line",
                "a",
                "b",
            ]
        )
    )
    return path


@pytest.fixture
def bundle(tmp_path, log, ada, api):
    def make(*options):
        make_endpoint(business=ada.business)
        api.post("/api/payments", orders.card_payment(source=orders.card_source(pan=PAN)))
        target = tmp_path / "bundle.zip"
        call_command("support_bundle", "--output", str(target), "--log", str(log), *options)
        with zipfile.ZipFile(target) as archive:
            return target, {name: archive.read(name).decode() for name in archive.namelist()}

    return make


class TestBundle:
    def test_contains_no_secret_and_no_card_number(self, bundle, ada, settings):
        settings.METRICS_TOKEN = "a-metrics-token-of-ours"

        _, files = bundle()

        everything = "\n".join(files.values())
        for canary in (
            ada.secret, KEY, PAN, "4084 0840", "408408408408", "hunter2", "topsecrettoken", "33a01abee785",
            "22123456789", "gAAAAABnQ0", "cvv=408", "a2VzdHJl", "kestrelcollector", settings.METRICS_TOKEN, project.SECRET_KEY,
            project.FINGERPRINT_KEY, *project.FIELD_ENCRYPTION_KEYS,
        ):  # fmt: skip
            assert canary not in everything, canary

    def test_contains_useful_data(self, bundle):
        target, files = bundle()

        assert set(files) == {
            "doctor.json", "versions.json", "settings.json", "counts.json", "metrics.txt", "logs/1.log"
        }  # fmt: skip
        assert json.loads(files["settings.json"])["ENVIRONMENT"] == "sandbox"
        assert json.loads(files["settings.json"])["SECRET_KEY"] == "set"
        assert json.loads(files["counts.json"])["transactions"] == {"payment success": 1}
        assert "django" in {name.lower() for name in json.loads(files["versions.json"])["packages"]}
        assert json.loads(files["doctor.json"])["findings"]
        assert "sluice_deliveries_due" in files["metrics.txt"]
        assert "GET /api/payments/<str:reference>" in files["logs/1.log"]
        assert files["logs/1.log"].count("\n") == 2000
        assert stat.S_IMODE(target.stat().st_mode) == 0o600

    def test_contains_no_names(self, bundle):
        _, files = bundle("--redact")

        for name in ("ada@example.com", "203.0.113.9", "order-7"):
            assert name not in files["logs/1.log"]

    def test_shows_each_part_when_it_is_complete(self, tmp_path, log):
        err = io.StringIO()

        call_command(
            "support_bundle",
            "--output",
            str(tmp_path / "x.zip"),
            "--log",
            str(log),
            stdout=io.StringIO(),
            stderr=err,
        )

        assert err.getvalue().splitlines()[1:] == [
            "doctor.json", "versions.json", "settings.json", "counts.json", "metrics.txt", "logs/1.log"
        ]  # fmt: skip

    def test_overwrites_nothing(self, tmp_path):
        (tmp_path / "x.zip").write_text("mine")

        with pytest.raises(CommandError, match="already exists"):
            call_command("support_bundle", "--output", str(tmp_path / "x.zip"))

        assert (tmp_path / "x.zip").read_text() == "mine"

    def test_reports_a_missing_log(self, tmp_path):
        with pytest.raises(CommandError, match="no log file"):
            call_command(
                "support_bundle", "--output", str(tmp_path / "x.zip"), "--log", str(tmp_path / "none")
            )

        assert not (tmp_path / "x.zip").exists()

    def test_that_fails_leaves_nothing_behind(self, tmp_path, log, monkeypatch):
        """The same command again would find the archive, and refuse to overwrite it."""

        def unreadable(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(support_bundle, "_tail", unreadable)

        with pytest.raises(CommandError, match=r"web\.log: Permission denied") as refused:
            call_command("support_bundle", "--output", str(tmp_path / "x.zip"), "--log", str(log))

        assert refused.value.returncode == 2
        assert not (tmp_path / "x.zip").exists()

    def test_in_a_missing_folder_is_refused(self, tmp_path):
        with pytest.raises(CommandError, match="No such file or directory"):
            call_command("support_bundle", "--output", str(tmp_path / "none" / "x.zip"))


# One value of every kind of confidential data, in the formats that clients, payers and operators use.
CANARIES = {
    "database password": "kestrel-db-7Wq",
    "Redis password": "kestrel-redis-9Zt",
    "mail password": "kestrel-mail-4Lp",
    "secret key": "sk_sandbox_kestrelsecretkey0123456789",
    "public key": "pk_sandbox_kestrelpublic01",
    "webhook key": "whk_sandbox_kestrelwebhook0123456789",
    "bank key": "kestrelbanksecret-0123456789abcdef0123",
    "session": "kestrelsessionid0123456789abcdefg",
    "CSRF token": "kestrelcsrf0123456789abcdefghijkl",
    "challenge token": "kestrelchallenge-tok_1",
    "payment id": "0192f0a1-7e57-7000-8000-00005e57e101",
    "invitation token": "kestrelinvitation-tok_2",
    "reset token": "kestrelreset-tok_3",
    "IPv4 address": "203.0.113.77",
    "IPv6 address": "2001:db8:7e57::beef",
    "e-mail": "kestrel.person@example.org",
    "name": "Kestrelina Featherstone",
    "telephone": "+2348030007788",
    "telephone with blanks": "0803 000 7788",
    "card number": "4084084084084081",
    "card number with blanks": "4084 0840 8408 4081",
    "account number": "0123456789",
    "BVN": "22987654321",
    "TOTP secret": "JBSWY3DPEHPK3PXP",
    "one-time code": "739154",
    "bearer token": "kestrelbearer.tok.en",
    "signature": "5e57" * 16,
    "nonce": "kestrelnonce0123456",
    "reference": "kestrel-order-7",
    "amount": "918273",
    "merchant's address": "https://kestrel.example.net/hooks?t=1",
}
FORMS = (
    "{0}",
    "{0} failed",
    "error: {0}",
    "key={0}",
    'event="{0}"',
    "redis://:{0}@10.1.2.3:6379/0",
    "postgres://sluice:{0}@db.internal/sluice",
    "Cookie: sessionid={0}; csrftoken={0}",
    "GET /3ds/{0} HTTP/1.1",
    '203.0.113.77 - - [22/Nov/2026:10:00:00 +0000] "GET /pay/{0}?x={0} HTTP/1.1" 200 532 "-" "{0}"',
    "GET /dashboard/invitation/{0}/",
    "POST /dashboard/login/new-password/{0}/",
    "GET /api/payments/{0}",
    "otpauth://totp/Sluice:{0}?secret={0}",
    "ConnectionError: {0}",
    '  File "/home/{0}/code.py", line 3, in {0}',
    "2026-11-22T10:00:00.000000Z [warning  ] attempt failed [sluice.webhooks] error={0} business={0} status={0}",
)
FIELDS = (
    "event", "timestamp", "level", "logger", "method", "status", "path", "request_id", "business", "delivery", "id",
    "error", "exception", "where", "ms", "count", "job", "reason", "host", "anything",
)  # fmt: skip


def log_lines(value):
    """Write a value as plain lines of all forms, and as every field of a structured line."""
    yield from (form.format(value) for form in FORMS)
    for name in FIELDS:
        yield json.dumps({"event": "request", "level": "info", name: value})
        yield json.dumps({"event": "request", name: {"nested": [value]}, value: 1})
        yield json.dumps({"logger": "sluice.requests", name: value})
    yield json.dumps(
        {"exception": f'Traceback (most recent call last):\n  File "{value}", line 1\nE: {value}'}
    )


def spelled_out(value):
    """Return the parts of a value that identify it."""
    return {value, *(part for part in re.split(r"[ @/?]", value) if len(part) > 5)} - {"https:"}


class TestRedaction:
    @pytest.mark.long
    def test_log_lines_contain_no_canary(self, tmp_path):
        logs = [tmp_path / f"{number}-{kind}.log" for number, kind in enumerate(CANARIES)]
        for log, value in zip(logs, CANARIES.values(), strict=True):
            log.write_text("\n".join(log_lines(value)))

        # Of the logs only: six digits of a code also occur among the figures of this process.
        bundle = redacted_bundle(tmp_path / "bundle.zip", *logs)
        everything = "\n".join(text for name, text in bundle.items() if name.startswith("logs/"))

        assert everything.count("attempt failed") == len(CANARIES)
        leaked = {
            kind for kind, value in CANARIES.items() if any(part in everything for part in spelled_out(value))
        }
        assert not leaked

    def test_settings_contain_no_canary(self, settings):
        """Set every setting in turn, including Django's, to a canary of its type."""
        for name in sorted(name for name in dir(settings) if name.isupper()):
            value = getattr(project, name)
            canary = {
                list: ["kestrelcanary"],
                tuple: ("kestrelcanary",),
                dict: {"kestrelcanary": "kestrelcanary"},
            }.get(type(value), "kestrelcanary")
            setattr(settings, name, canary)
            shown = json.dumps(redacted_settings())
            setattr(settings, name, value)
            assert "kestrelcanary" not in shown, name

    def test_only_harmless_settings_show_numbers(self, settings):
        shown = redacted_settings()

        numbers = {name for name, value in shown.items() if type(value) in (int, float)}
        assert numbers <= set(support_bundle.HARMLESS)
        assert shown["RATE_LIMIT_WRITES"] == settings.RATE_LIMIT_WRITES
        assert shown["ENVIRONMENT"] == "sandbox"
        assert shown["BANK_SECRET_KEY"] == "not set"

    @pytest.mark.long
    def test_environment_leaves_no_canary(self, tmp_path):
        """Write a bundle in a process with a canary in every variable."""
        environment = environment_of_canaries(tmp_path)
        log = tmp_path / "web.log"
        log.write_text("\n".join(f"{name}={value}" for name, value in environment.items()))
        target = tmp_path / "b.zip"
        subprocess.run(
            [sys.executable, "manage.py", "support_bundle", "--output", str(target), "--log", str(log)],
            cwd=project.BASE_DIR, env=environment, check=True, capture_output=True, timeout=60,
        )  # fmt: skip

        files = read_bundle(target)
        assert "kestrel" not in "\n".join([*files, *files.values()]).lower()
        assert "203.0.113" not in "\n".join(files.values())

    def test_digits_of_numbers_are_too_few_for_a_card_number(self, tmp_path):
        log = tmp_path / "web.log"
        log.write_text('{"event": "request", "ms": 40.84084084084081}\n{"event": "request", "ms": 1.5}\n')

        files = redacted_bundle(tmp_path / "bundle.zip", log)

        assert [json.loads(line)["ms"] for line in files["logs/1.log"].splitlines()] == [40.8, 1.5]

    @pytest.mark.parametrize(
        "form",
        [
            "warning  ] request      [sluice.requests] reason='as event={0} says'",
            "warning  ] {0} failed [sluice.requests]  [django.request] status=500",
            "warning  ] Bad Request: x [django.request] reason='{0} [sluice.requests] {0}'",
        ],
    )
    def test_text_in_a_line_of_a_sandbox_is_no_event_of_ours(self, tmp_path, form):
        log = tmp_path / "web.log"
        log.write_text(f"2026-11-22T10:00:00.000000Z [{form.format('kestrel')}\n")

        files = redacted_bundle(tmp_path / "bundle.zip", log)

        assert "kestrel" not in files["logs/1.log"]

    def test_keeps_useful_data(self, tmp_path, api, ada):
        api.post("/api/payments", orders.card_payment())
        log = tmp_path / "web.log"
        log.write_text("\n".join(HELPFUL))

        files = redacted_bundle(tmp_path / "bundle.zip", log)

        assert files["logs/1.log"].splitlines() == HELPFUL_WHERE_REDACTED
        assert set(files) == {
            "doctor.json", "versions.json", "settings.json", "counts.json", "metrics.txt", "logs/1.log"
        }  # fmt: skip
        findings = json.loads(files["doctor.json"])["findings"]
        assert (
            next(finding for finding in findings if finding["check"] == "migrations")["said"]
            == "All migrations are applied."
        )
        assert json.loads(files["versions.json"])["packages"]["django"]
        assert json.loads(files["counts.json"])["transactions"] == {"payment success": 1}
        assert 'route="/api/payments",status="201"' in files["metrics.txt"]

    @pytest.mark.parametrize(
        ("age", "said"), [({"minutes": 5}, "5 minutes ago"), ({"hours": 1}, "1 hour ago")]
    )
    def test_keeps_durations_in_findings(self, tmp_path, age, said):
        beat(now=timezone.now() - timedelta(**age))

        files = redacted_bundle(tmp_path / "bundle.zip")

        findings = json.loads(files["doctor.json"])["findings"]
        [worker] = [finding["said"] for finding in findings if finding["check"] == "worker"]
        assert worker.endswith(f"{said}.")

    def test_leaves_out_findings_that_may_name_a_part_of_the_installation(self, tmp_path, settings):
        settings.PUBLIC_URL = "https://kestrel.example"
        settings.WEBHOOK_ALLOW_CIDRS = ["10.7.57.0/24"]

        files = redacted_bundle(tmp_path / "bundle.zip")

        findings = json.loads(files["doctor.json"])["findings"]
        [networks] = [finding for finding in findings if finding["check"] == "webhook networks"]
        assert (networks["severity"], networks["said"], networks["advice"]) == (
            "warning", "[removed]", "[removed]"
        )  # fmt: skip
        assert "10.7.57" not in files["doctor.json"]

    def test_hides_how_a_private_connector_is_named(self, settings):
        settings.CARD_ACQUIRER = "kestrel.acquirer.Connector"

        assert redacted_settings()["CARD_ACQUIRER"] == "set"


HELPFUL = [
    (
        '{"event": "request", "method": "GET", "path": "/api/payments/order-7", "status": 200, "ms": 4.1, '
        '"request_id": "abc", "business": "0192", "level": "info", "logger": "sluice.requests", '
        '"timestamp": "2026-11-22T10:00:00.000000Z"}'
    ),
    (
        '{"event": "no answer from the bank", "business": "0193", "request_id": "abc", "host": "x", '
        '"logger": "sluice.bank"}'
    ),
    '{"event": "request failed", "error": "OperationalError", "business": "0192", "logger": "sluice.errors"}',
    '{"event": "WORKER TIMEOUT (pid:9)", "logger": "gunicorn.error", "level": "critical"}',
    '203.0.113.9 - - [22/Nov/2026:10:00:00 +0000] "GET /api/payments/order-7 HTTP/1.1" 502 150 "-" "curl/8"',
    "redis.exceptions.ConnectionError: Error 111 connecting to redis:6379. Connection refused.",
    "[2026-11-22 10:00:00 +0000] [7] [CRITICAL] WORKER TIMEOUT (pid:9)",
    (
        "2026-11-22T10:00:00.000000Z [info     ] attempt failed                 [sluice.webhooks] error=timeout "
        "business=0192"
    ),
    "Traceback (most recent call last):",
    f'  File "{project.BASE_DIR}/manage.py", line 3, in main',
    'django.db.utils.OperationalError: connection to server at "10.1.2.3" failed',
]
HELPFUL_WHERE_REDACTED = [
    (
        '{"event": "request", "method": "GET", "path": "/api/payments/<str:reference>", "status": 200, "ms": 4.1, '
        '"request_id": "request_id-1", "business": "business-1", "level": "info", "logger": "sluice.requests", '
        '"timestamp": "2026-11-22T10:00:00.000000Z"}'
    ),
    (
        '{"event": "no answer from the bank", "business": "business-2", "request_id": "request_id-1", '
        '"logger": "sluice.bank", "other_fields": 1}'
    ),
    '{"event": "request failed", "error": "OperationalError", "business": "business-1", "logger": "sluice.errors"}',
    '{"event": "WORKER TIMEOUT", "logger": "gunicorn.error", "level": "critical"}',
    "GET /api/payments/<str:reference> 502",
    "ConnectionError, Connection refused",
    "WORKER TIMEOUT",
    (
        '{"timestamp": "2026-11-22T10:00:00.000000Z", "level": "info", "event": "attempt failed", '
        '"logger": "sluice.webhooks", "error": "timeout", "business": "business-1", "other_fields": 1}'
    ),
    "Traceback (most recent call last)",
    '  File "manage.py", line 3',
    "OperationalError",
]


def redacted_settings():
    names = [name for name in dir(project) if name.isupper()]
    return {name: support_bundle.shown_setting(name) for name in names}


def redacted_bundle(target, *logs):
    options = [option for log in logs for option in ("--log", str(log))]
    call_command("support_bundle", "--output", str(target), *options)
    return read_bundle(target)


def read_bundle(target):
    with zipfile.ZipFile(target) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def environment_of_canaries(folder):
    """Return every variable of `.env.example`, with a canary wherever any text is accepted, and some
    others.
    """
    names = re.findall(r"^([A-Z_]+)=", (Path(project.BASE_DIR) / ".env.example").read_text(), re.MULTILINE)
    canaries = {
        name: f"secretkestrel-{name.lower()}-0123456789abcdef" for name in names if SECRET.search(name)
    }
    canaries |= {
        "DATABASE_URL": f"sqlite:////{folder}/kestrel.sqlite3",
        "REDIS_URL": "redis://kestreluser:secretkestrelredis@127.0.0.1:1/0",
        "MAIL_URL": "smtp+tls://kestreluser:secretkestrelmail@kestrel.example:587",
        "MAIL_FROM": "Kestrel <kestrel@example.org>",
        "PUBLIC_URL": "https://kestrel.example",
        "ALLOWED_HOSTS": "kestrel.example,kestrel2.example",
        "SANDBOX_DATA": f"{folder}/kestrel-data",
        "ACQUIRER_HOST": "kestrel.acquirer.example",
        "ACQUIRER_INSTITUTION_ID": "kestrelinst",
        "ACQUIRER_TERMINAL_ID": "kestrelt",
        "ACQUIRER_MERCHANT_ID": "kestrelmerchant",
        "ACQUIRER_PLACE": "KESTREL NG",
        "BANK_URL": "https://kestreluser:secretkestrelbank@bank.kestrel.example",
        "BANK_CLIENT_ID": "kestrelclient",
        "BANK_CA_FILE": "/etc/kestrel.pem",
        "CHECKOUT_SECRET_KEY": "sk_sbox_" + "secretkestrelcheckout".ljust(27, "a"),
        "CHECKOUT_PROCESSING_CHANNEL": "pc_" + ("kestrel" * 4)[:26],
        "CHECKOUT_URL": "https://kestrel.api.sandbox.checkout.com",
        "PAYSTACK_SECRET_KEY": "sk_test_secretkestrelpaystack",
        "PAYSTACK_URL": "https://kestrel.paystack.example",
        "PAYSTACK_CA_FILE": "/etc/kestrel.pem",
        "VIRTUAL_ACCOUNT_BANK_NAME": "Kestrel Bank",
        "CARD_ACQUIRER": "kestrel.Acquirer",
        "PAYOUT_BANK": "kestrel.Bank",
        "METRICS_ALLOW_CIDRS": "203.0.113.0/24",
        "WEBHOOK_ALLOW_CIDRS": "203.0.113.0/24",
        "WORKER_METRICS_ADDRESS": "203.0.113.5:9101",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "https://secretkestreltrace:secretkestrelotel@kestrel.example",
        "FIELD_ENCRYPTION_KEYS": FERNET,
        "AWS_SECRET_ACCESS_KEY": "secretkestrelaws0123",
        "HOME": "/home/kestrel",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    return {"PATH": os.environ["PATH"], "PYTHONPATH": ""} | canaries


SECRET = re.compile("KEY|SECRET|TOKEN|PASSWORD")
FERNET = "c2VjcmV0a2VzdHJlbDAxMjM0NTY3ODlhYmNkZWYwMTI="  # 32 bytes
