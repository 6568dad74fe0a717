import ast
import os
import re
import subprocess
import sys

import pytest
from environ import Env

from config.checks.startup import (
    connectors_have_names,
    every_connector_is_usable,
    every_rail_has_a_connector,
    mails_are_sent,
)
from tests.journeys.service import PROJECT

FIELD_KEY = "dGVzdC1vbmx5LWZpZWxkLWtleS0wMTIzNDU2Nzg5MDE="
PRODUCTION = {
    "ENVIRONMENT": "production",
    "SECRET_KEY": "x7Kq" * 12,
    "FIELD_ENCRYPTION_KEYS": FIELD_KEY,
    "FINGERPRINT_KEY": "fingerprint-key-of-a-test",
    "DATABASE_URL": "postgres://unknown@127.0.0.1/none",
    "PUBLIC_URL": "https://pay.shop.com",
}

RAILS = {
    "CARD_ACQUIRER": "iso8583",
    "ACQUIRER_HOST": "acquirer.example",
    "ACQUIRER_INSTITUTION_ID": "628051",
    "ACQUIRER_TERMINAL_ID": "SLUICE01",
    "ACQUIRER_MERCHANT_ID": "SLUICE000000001",
    "PAYOUT_BANK": "http",
    "BANK_URL": "https://bank.example/api",
    "BANK_CLIENT_ID": "sluice",
    "BANK_SECRET_KEY": "key-shared-with-the-bank-of-a-test",
}


def start(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    """Load the settings in a separate process with only this environment."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, *(command or ("-c", "import config.settings"))],
        cwd=PROJECT,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def assert_refused(refused: subprocess.CompletedProcess[str], *named: str) -> None:
    """Check that the process ended with status 2 and one line for each wrong setting, and without a traceback."""
    assert refused.returncode == 2, refused.stderr
    assert "Traceback" not in refused.stderr
    assert all(name in refused.stderr for name in named), refused.stderr


class TestEnvironmentExample:
    def test_lists_every_variable_that_is_read(self):
        code = "".join(
            (PROJECT / "config" / name).read_text()
            for name in ("settings.py", "environment/env.py", "runtime/gunicorn.py")
        )
        read = set(
            re.findall(
                r'(?:env\.(?:text|flag|numbers?|words|choices?|url|networks|currencies|amounts)|_secret)\(\s*"([A-Z_]+)"',
                code,
            )
        )

        listed = set(re.findall(r"^([A-Z_]+)=", (PROJECT / ".env.example").read_text(), re.MULTILINE))

        assert listed == read

    def test_means_the_same_to_a_shell_as_to_the_service(self, monkeypatch):
        example, read = PROJECT / ".env.example", {}
        monkeypatch.setattr(Env, "ENVIRON", read)
        Env.read_env(example)

        sourced = subprocess.run(
            ["sh", "-euc", f"set -a; . {example}; env -0"],
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=True,
        )

        seen = dict(line.split("=", 1) for line in sourced.stdout.split("\0") if line)
        assert sourced.stderr == ""
        assert {name: seen.get(name) for name in read} == read

    @pytest.mark.parametrize("file", ["settings.py", "runtime/gunicorn.py"])
    def test_states_the_limits_of_every_number(self, file):
        limits = {
            call.args[0].value: {
                keyword.arg: keyword.value.value
                for keyword in call.keywords
                if keyword.arg in {"minimum", "maximum"}
            }
            for call in ast.walk(ast.parse((PROJECT / "config" / file).read_text()))
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "env.number"
        }
        assert limits

        for name, limit in limits.items():
            comment = comment_on(name)
            if limit.get("minimum"):
                assert f"at least {limit['minimum']}" in comment, name
            if "maximum" in limit:
                assert f"at most {limit['maximum']}" in comment, name


def comment_on(name: str) -> str:
    """Return the comment above a variable in `.env.example`. Consecutive variables may share a comment."""
    lines = (PROJECT / ".env.example").read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith(f"{name}="))
    before = lines[:place]
    while before and not before[-1].startswith("#"):
        before.pop()
    comment = []
    while before and before[-1].startswith("#"):
        comment.insert(0, before.pop().removeprefix("#").strip())
    return " ".join(comment)


class TestProduction:
    def test_starts_with_everything_set(self):
        assert start(PRODUCTION).returncode == 0

    @pytest.mark.parametrize(
        "complaints",
        [
            {
                ("SECRET_KEY", ""): "SECRET_KEY must be set",
                ("FIELD_ENCRYPTION_KEYS", ""): "FIELD_ENCRYPTION_KEYS must be set",
                ("FINGERPRINT_KEY", ""): "FINGERPRINT_KEY must be set",
                ("CARD_ACQUIRER", "sandbox"): "may not be the sandbox's",
                ("DEBUG", "True"): "DEBUG must be False",
                ("DATABASE_URL", ""): "DATABASE_URL must name a PostgreSQL",
                ("PUBLIC_URL", "http://pay.shop.com"): "PUBLIC_URL must be an https",
                ("BANK_URL", "http://bank.example"): "BANK_URL must be an https",
            },
            {
                ("SECRET_KEY", "short"): "SECRET_KEY must be 32",
                ("FIELD_ENCRYPTION_KEYS", "junk"): "FIELD_ENCRYPTION_KEYS must be Fernet keys",
                ("DATABASE_URL", "sqlite:///db.sqlite3"): "DATABASE_URL must name a PostgreSQL",
                ("MAIL_URL", "nonsense://ada:password@mail"): "MAIL_URL must look like",
                ("ACQUIRER_TIMEOUT", "10"): "ACQUIRER_TIMEOUT must be a whole number of at most 9",
                ("BANK_TIMEOUT", "60"): "BANK_TIMEOUT must be a whole number of at most 9",
            },
            {("SECRET_KEY", "django-insecure-" + "x" * 40): "SECRET_KEY must be 32"},
        ],
    )
    def test_rejects_unsafe_settings(self, complaints):
        refused = start(PRODUCTION | dict(complaints.keys()))

        assert_refused(refused, *complaints.values())
        assert len(refused.stderr.splitlines()) == len(complaints), refused.stderr

    @pytest.mark.parametrize("key", ["sk_test_0a1b2c3d", "pk_live_0a1b2c3d", "sk_live_0a1b 2c3d"])
    def test_rejects_a_key_of_paystack_of_another_kind_without_showing_it(self, key):
        refused = start(PRODUCTION | {"PAYSTACK_SECRET_KEY": key, "PAYSTACK_URL": "http://127.0.0.1:8587"})

        assert_refused(refused, "PAYSTACK_SECRET_KEY", "PAYSTACK_URL")
        assert "0a1b" not in refused.stderr

    @pytest.mark.parametrize(
        ("changes", "complaint"),
        [
            ({"PAYSTACK_URL": "http://127.0.0.1:8587"}, ""),
            ({"PAYSTACK_SECRET_KEY": "sk_live_0a1b2c3d"}, "PAYSTACK_SECRET_KEY"),
            ({"PAYSTACK_URL": "http://127.0.0.1.example"}, "PAYSTACK_URL"),
            ({"PAYSTACK_INTEGRATION": "shop"}, "PAYSTACK_INTEGRATION"),
            ({"PAYSTACK_CURRENCIES": "NGN,USD,KES"}, ""),
            ({"PAYSTACK_CURRENCIES": "NGN,XOF"}, "PAYSTACK_CURRENCIES"),  # which Paystack divides by 100
        ],
    )
    def test_checks_paystack_in_a_sandbox_too(self, changes, complaint):
        started = start({"ENVIRONMENT": "sandbox"} | changes)

        assert started.returncode == (2 if complaint else 0)
        assert complaint in started.stderr

    @pytest.mark.long
    def test_starts_with_the_real_rails_and_without_a_warning_about_them(self):
        checked = start(PRODUCTION | RAILS, "manage.py", "check")

        assert checked.returncode == 0, checked.stderr
        assert "CARD_ACQUIRER" not in checked.stderr
        assert "PAYOUT_BANK" not in checked.stderr

    @pytest.mark.long
    @pytest.mark.parametrize("name", ["ACQUIRER_HOST", "ACQUIRER_TERMINAL_ID", "BANK_SECRET_KEY"])
    def test_reports_missing_settings_of_a_real_rail(self, name):
        checked = start(PRODUCTION | RAILS | {name: ""}, "manage.py", "check")

        assert checked.returncode == 1
        assert name in checked.stderr

    @pytest.mark.long
    def test_reports_a_connector_that_does_not_exist(self):
        checked = start(PRODUCTION | {"CARD_ACQUIRER": "payments.rails.none.Missing"}, "manage.py", "check")

        assert checked.returncode == 1
        assert "is not a connector" in checked.stderr

    @pytest.mark.long
    def test_passes_the_deployment_checks(self):
        checked = start(
            PRODUCTION
            | RAILS
            | {
                "SECRET_KEY": "x7Kq0Zt9" * 8,
                "RAILS_NOT_USED": "virtual_accounts",
                "MAIL_URL": "smtp+tls://ada:password@mail.example:587",
            },
            "manage.py", "check", "--deploy", "--fail-level", "WARNING",
        )  # fmt: skip

        assert (checked.returncode, checked.stderr) == (0, "")

    @pytest.mark.parametrize(
        ("hosts", "answered"), [("", "pay.shop.com"), ("a.shop.com, b.shop.com", "a.shop.com b.shop.com")]
    )
    def test_accepts_the_host_of_its_public_url_or_the_configured_hosts(self, hosts, answered):
        code = "from config import settings; print(*settings.ALLOWED_HOSTS)"

        assert start(PRODUCTION | {"ALLOWED_HOSTS": hosts}, "-c", code).stdout == f"{answered}\n"

    def test_has_secure_cookies_and_connections(self):
        code = (
            "from config import settings as s; print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, "
            "s.SESSION_COOKIE_SECURE, s.HSTS_SECONDS, s.DATABASES['default']['OPTIONS']['options'])"
        )

        printed = start(PRODUCTION, "-c", code).stdout

        assert printed == (
            "__Host-session __Host-csrf True 31536000 "
            "-c statement_timeout=30000 -c lock_timeout=3000 -c idle_in_transaction_session_timeout=60000\n"
        )

    @pytest.mark.long
    def test_reports_rails_without_a_connector(self):
        checked = start(PRODUCTION, "manage.py", "check")

        assert checked.returncode == 0
        assert "CARD_ACQUIRER is not set" in checked.stderr
        assert "PAYOUT_BANK is not set" in checked.stderr


class TestRailsNotUsed:
    def test_cannot_be_unknown_or_configured(self):
        assert_refused(
            start(PRODUCTION | {"RAILS_NOT_USED": "payouts, payout"}), "RAILS_NOT_USED", "'payout'"
        )
        assert_refused(
            start(PRODUCTION | RAILS | {"RAILS_NOT_USED": "payouts"}),
            "RAILS_NOT_USED has payouts",
            "PAYOUT_BANK",
        )

    def test_are_no_warning(self, settings):
        settings.PAYOUT_BANK, settings.ACCOUNT_PROVIDER, settings.RAILS_NOT_USED = "", "", ["payouts"]

        assert [found.id for found in every_rail_has_a_connector()] == ["sluice.ACCOUNT_PROVIDER"]


class TestConnectors:
    @pytest.mark.parametrize("name", ["CARD_ACQUIRER", "PAYOUT_BANK", "ACCOUNT_PROVIDER"])
    @pytest.mark.parametrize("value", ["passwordbank", "https://ada:password@bank.example"])
    def test_unknown_name_prevents_the_start(self, name, value, tmp_path):
        refused = start({"SANDBOX_DATA": str(tmp_path), name: value})

        assert_refused(refused, f"{name} must be one of sandbox")
        assert "password" not in refused.stderr

    @pytest.mark.parametrize("kind", ["pk_sbox_", "sk_test_", "sk_"])
    def test_key_of_the_wrong_kind_or_environment_prevents_the_start(self, kind, tmp_path):
        key = f"{kind}simulatorsimulatorsimulator"

        refused = start({"SANDBOX_DATA": str(tmp_path), "CHECKOUT_SECRET_KEY": key})

        assert_refused(refused, "CHECKOUT_SECRET_KEY must be a secret key of Checkout.com")
        assert key not in refused.stderr

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("CARD_ACQUIRER", "payments.rails.sandbox.SandboxAcquirer"),
            ("PAYOUT_BANK", "payments.rails.sandbox.SandboxBank"),
            ("ACCOUNT_PROVIDER", "virtual_accounts.providers.sandbox.SandboxProvider"),
        ],
    )
    def test_path_of_a_class_is_a_warning(self, settings, name, value):
        assert connectors_have_names() == []

        setattr(settings, name, value)

        assert [found.id for found in connectors_have_names()] == [f"sluice.{name}.dotted"]
        assert every_connector_is_usable() == []


class TestTypedValues:
    @pytest.mark.long
    @pytest.mark.parametrize(
        "wrong",
        [
            {
                "DEBUG": "maybe",
                "FOUR_EYES": "2",
                "RATE_LIMIT_WRITES": "many",
                "RATE_LIMIT_READS": "1_000",
                "LOG_LEVEL": "LOUD",
                "AUTHORISATION_LIFETIME": "59",
                "CHALLENGE_LIFETIME": "0",
                "ACQUIRER_PORT": "65536",
                "WEBHOOK_RETRY_DELAYS": "0,soon",
                "WEBHOOK_ALLOW_CIDRS": "127.0.0.1/99",
                "METRICS_ALLOW_CIDRS": "localhost",
                "DEFAULT_CURRENCIES": "NGN,NAIRA",
                "DATABASE_POOLING": "statement",
                "DATABASE_URL": "nonsense",
                "REDIS_URL": "127.0.0.1:6379",
                "MAIL_URL": "nonsense://ada:password@mail",
                "PUBLIC_URL": "pay.shop.com",
                "BANK_NOTIFICATION_KEYS": "password",
                "VIRTUAL_ACCOUNT_BANK_CODE": "bank",
                "FIELD_ENCRYPTION_KEYS": "password",
            },
            {
                "RATE_LIMIT_WRITES": "0",
                "RATE_LIMIT_READS": "9" * 5000,
                "DATABASE_URL": "mysql://ada:password@db/sluice",
                "REDIS_URL": "redis://:password/@redis:6379/0",
                "MAIL_URL": "smtp://ada:password/@mail:587",
            },
            {"ENVIRONMENT": "staging"},
            {"DATABASE_URL": "postgres://ada:password/@db:5432/sluice"},
            {"DATABASE_URL": "postgres://ada@db:54x2/sluice"},
            {"DATABASE_URL": "postgres://ada:password@a:5432,b:54x2/sluice"},
            {"DATABASE_URL": "postgres://ada:password@a,b/sluice?target_session_attrs=any"},
        ],
    )
    def test_invalid_values_prevent_the_start(self, wrong, tmp_path):
        refused = start({"SANDBOX_DATA": str(tmp_path)} | wrong)

        assert_refused(refused, *wrong)
        assert "password" not in refused.stderr.replace("user:password@", "")

    @pytest.mark.long
    def test_all_invalid_values_are_reported_at_once(self, tmp_path):
        wrong = {"CHALLENGE_LIFETIME": "0", "DEBUG": "maybe", "DATABASE_URL": "nonsense", "LOG_LEVEL": "LOUD"}

        for command in (("manage.py", "check"), ("-m", "celery", "-A", "config", "worker")):
            refused = start(wrong | {"SANDBOX_DATA": str(tmp_path)}, *command)

            assert_refused(refused, *wrong)
            assert len(refused.stderr.splitlines()) == len(wrong)

    def test_invalid_value_stops_gunicorn_instead_of_restarting_its_workers(self, tmp_path):
        wrong = {"CHALLENGE_LIFETIME": "0", "WEB_WORKERS": "0", "SANDBOX_DATA": str(tmp_path)}

        refused = start(wrong, "-m", "gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi")

        assert_refused(refused, "CHALLENGE_LIFETIME", "WEB_WORKERS")

    def test_booleans_accept_common_spellings(self, tmp_path):
        spellings = {
            "FOUR_EYES": "true", "LOG_REQUESTS": "YES", "ACQUIRER_TLS": "1", "DEBUG": "On",
            "PAYOUT_REQUIRES_BALANCE": "no", "REQUEST_LOG_READS": "0",
        }  # fmt: skip
        code = f"from config import settings; print(*[getattr(settings, name) for name in {[*spellings]}])"

        printed = start(spellings | {"SANDBOX_DATA": str(tmp_path)}, "-c", code).stdout

        assert printed == "True True True True False False\n"


class TestPooling:
    @pytest.mark.parametrize(("pooling", "read"), [("session", "2 False"), ("transaction", "None True")])
    def test_shared_sessions_hold_no_statements_and_cursors(self, pooling, read, tmp_path):
        code = (
            "from config.settings import DATABASES; database = DATABASES['default'];"
            "print(database['OPTIONS']['prepare_threshold'], database['DISABLE_SERVER_SIDE_CURSORS'])"
        )
        given = {"DATABASE_URL": "postgres://unknown@127.0.0.1/none", "DATABASE_POOLING": pooling}

        printed = start(given | {"SANDBOX_DATA": str(tmp_path)}, "-c", code).stdout

        assert printed == f"{read}\n"


class TestMail:
    def test_missing_configuration_is_a_warning(self, settings):
        assert mails_are_sent() == []

        settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
        (warning,) = mails_are_sent()

        assert "password resets are not mailed" in warning.msg
