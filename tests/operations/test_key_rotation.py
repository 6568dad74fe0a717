"""Rotation of encryption keys: add the new key in front, rewrite, remove the old one."""

from io import StringIO

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from kit.db.encrypted_field import decrypt
from merchants.models import ApiKey
from operations import doctor_checks, key_rotation
from tests.factories import UserFactory
from tests.webhooks.rows import KEY, make_endpoint
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


def run(*options):
    out = StringIO()
    call_command("rewrite_secrets", *options, stdout=out, stderr=StringIO())
    return out.getvalue()


class TestRewriting:
    def test_allows_the_old_key_to_be_removed(self, ada, settings, monkeypatch):
        monkeypatch.setattr(key_rotation, "BATCH", 1)
        make_endpoint(business=ada.business)
        secret, new = ada.secret, Fernet.generate_key().decode()
        settings.FIELD_ENCRYPTION_KEYS = [new, *settings.FIELD_ENCRYPTION_KEYS]

        assert "Rewrote 1 of 1 in merchants_apikey.secret.\n" in run()

        settings.FIELD_ENCRYPTION_KEYS = [new]
        assert ApiKey.objects.get().secret == secret
        assert Endpoint.objects.get().hash_key == KEY
        assert "Rewrote 0 of 1 in merchants_apikey.secret.\n" in run()

    def test_second_factors_outlive_the_old_key(self, settings):
        """The library keeps their secrets in JSON."""
        user, secret = UserFactory(), totp.generate_totp_secret()
        app, codes = totp.TOTP.activate(user, secret), RecoveryCodes.activate(user)
        unused = codes.get_unused_codes()
        old = settings.FIELD_ENCRYPTION_KEYS
        settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *old]

        assert "Would rewrite 2 of 2 in mfa_authenticator.data.\n" in run("--dry-run")
        assert "Rewrote 2 of 2 in mfa_authenticator.data.\n" in run()
        assert "Rewrote 0 of 2 in mfa_authenticator.data.\n" in run()

        settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS[:1]
        app.instance.refresh_from_db()
        codes.instance.refresh_from_db()
        assert decrypt(app.instance.data["secret"]) == secret
        assert codes.get_unused_codes() == unused

    def test_doctor_finds_second_factors_without_their_key(self, settings):
        totp.TOTP.activate(UserFactory(), totp.generate_totp_secret())
        settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]

        (finding,) = doctor_checks._field_keys(timezone.now())

        assert finding.said.startswith("Secrets in mfa_authenticator.data can't be decrypted")

    def test_counts_each_column_once(self, ada):
        err = StringIO()

        call_command("rewrite_secrets", stdout=StringIO(), stderr=err)

        assert not err.getvalue()

    def test_supports_a_dry_run(self, ada, settings):
        before = list(ApiKey.objects.extra(select={"raw": "secret"}).values_list("raw", flat=True))
        settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.FIELD_ENCRYPTION_KEYS]

        assert "Would rewrite 1 of 1 in merchants_apikey.secret.\n" in run("--dry-run")

        assert list(ApiKey.objects.extra(select={"raw": "secret"}).values_list("raw", flat=True)) == before

    def test_keeps_concurrent_changes(self, ada, settings, monkeypatch):
        settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.FIELD_ENCRYPTION_KEYS]
        rotated = key_rotation._rotated

        def change_first(keys, token):
            ApiKey.objects.filter(pk=ada.pk).update(secret="changed meanwhile")
            return rotated(keys, token)

        monkeypatch.setattr(key_rotation, "_rotated", change_first)

        assert "Rewrote 0 of 1 in merchants_apikey.secret.\n" in run()
        assert ApiKey.objects.get().secret == "changed meanwhile"

    def test_reports_a_missing_key(self, ada, settings):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE merchants_apikey SET secret = 'gAAAAAnonsense'")

        with pytest.raises(CommandError, match="Restore the key") as refused:
            run()
        assert "gAAAAA" not in str(refused.value)
