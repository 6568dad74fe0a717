"""The support bundle: enough to help, and never a secret."""

import json
import stat
import zipfile

import pytest
from django.conf import settings as project
from django.core.management import CommandError, call_command

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
                *["filler"] * 1990,
                f"key {ada.secret} and {KEY}",
                f"card {PAN} cvv=408, spaced 4084 0840 8408 4081",
                "connecting to postgres://sluice:hunter2@db.internal/sluice",
                "Authorization: Bearer topsecrettoken",
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
    @pytest.mark.parametrize("options", [(), ("--redact",)])
    def test_holds_no_secret_and_no_card_number(self, bundle, ada, settings, options):
        settings.METRICS_TOKEN = "a-metrics-token-of-ours"

        _, files = bundle(*options)

        everything = "\n".join(files.values())
        for canary in (
            ada.secret, KEY, PAN, "4084 0840", "408408408408", "hunter2", "topsecrettoken", "33a01abee785",
            "22123456789", "gAAAAABnQ0", "cvv=408", settings.METRICS_TOKEN, project.SECRET_KEY,
            project.FINGERPRINT_KEY, *project.FIELD_ENCRYPTION_KEYS,
        ):  # fmt: skip
            assert canary not in everything, canary

    def test_holds_what_helps(self, bundle):
        target, files = bundle()

        assert set(files) == {
            "doctor.json", "versions.json", "settings.json", "counts.json", "metrics.txt", "logs/1-web.log"
        }  # fmt: skip
        assert json.loads(files["settings.json"])["ENVIRONMENT"] == "sandbox"
        assert json.loads(files["settings.json"])["SECRET_KEY"] == "set"
        assert json.loads(files["counts.json"])["transactions"] == {"payment success": 1}
        assert "django" in {name.lower() for name in json.loads(files["versions.json"])["packages"]}
        assert json.loads(files["doctor.json"])["findings"]
        assert "sluice_deliveries_due" in files["metrics.txt"]
        assert "the last line" in files["logs/1-web.log"]
        assert "an old line" not in files["logs/1-web.log"]
        assert stat.S_IMODE(target.stat().st_mode) == 0o600

    def test_names_people_where_it_is_not_redacted(self, bundle):
        _, plain = bundle()
        assert "ada@example.com" in plain["logs/1-web.log"]

    def test_leaves_people_out_where_it_is_redacted(self, bundle):
        _, files = bundle("--redact")

        for name in ("ada@example.com", "203.0.113.9", "order-7"):
            assert name not in files["logs/1-web.log"]

    def test_overwrites_nothing(self, tmp_path):
        (tmp_path / "x.zip").write_text("mine")

        with pytest.raises(CommandError, match="there already"):
            call_command("support_bundle", "--output", str(tmp_path / "x.zip"))

        assert (tmp_path / "x.zip").read_text() == "mine"

    def test_says_which_log_is_not_there(self, tmp_path):
        with pytest.raises(CommandError, match="no log file"):
            call_command(
                "support_bundle", "--output", str(tmp_path / "x.zip"), "--log", str(tmp_path / "none")
            )

        assert not (tmp_path / "x.zip").exists()
