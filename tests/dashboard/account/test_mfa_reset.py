"""An operator resets the MFA of a user who lost the phone and the recovery codes."""

import io
import json

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from merchants.models import AuditEntry
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import passkey_of
from tests.factories import MemberFactory, UserFactory

pytestmark = pytest.mark.django_db

EVERYTHING = ["totp", "recovery_codes", "webauthn"]


def reset(*options, email="Ada@Example.com", reason="Lost phone, ticket 4711"):
    printed = io.StringIO()
    call_command("reset_second_factor", "--email", email, "--reason", reason, *options, stdout=printed)
    return printed.getvalue()


def sign_in(client):
    return client.post("/dashboard/login/", {"email": "ada@example.com", "password": PASSWORD})


def audit_entries():
    return AuditEntry.objects.filter(action="second_factor.reset")


@pytest.fixture
def signed_in_browser(ada_member):
    client = Client()
    sign_in(client)
    assert client.get("/dashboard/").status_code == 200
    return client


@pytest.fixture
def factors(ada_member, signed_in_browser):
    TOTP.activate(ada_member.user, generate_totp_secret())
    RecoveryCodes.activate(ada_member.user)
    passkey_of(ada_member.user)


@pytest.mark.usefixtures("factors")
class TestReset:
    def test_allows_sign_in_with_the_password_alone(self):
        assert sign_in(Client())["Location"] == "/dashboard/login/code/"

        document = json.loads(reset("--json"))

        assert document == {
            "email": "ada@example.com",
            "dry_run": False,
            "removed": EVERYTHING,
            "sessions_ended": 1,
        }
        assert sign_in(Client())["Location"] == "/dashboard/"

    def test_ends_every_session(self, signed_in_browser):
        reset()

        assert signed_in_browser.get("/dashboard/").status_code == 302

    def test_does_not_affect_other_users(self, bisi_member):
        passkey_of(bisi_member.user)

        reset()

        assert Authenticator.objects.get().user == bisi_member.user

    def test_is_audited_in_each_business_of_the_user(self, ada_member, bisi):
        MemberFactory(business=bisi.business, user=ada_member.user)

        reset()

        assert set(audit_entries().values_list("business", flat=True)) == {
            ada_member.business_id,
            bisi.business_id,
        }
        assert set(audit_entries().values_list("actor", "target")) == {
            ("reset_second_factor", "ada@example.com")
        }

    def test_is_in_the_activity_with_its_reason(self, ada_member):
        reset()

        client = Client()
        sign_in(client)
        page = client.get("/dashboard/activity/").content.decode()
        assert "Removed the second factors of ada@example.com and ended their sessions" in page
        assert "Lost phone, ticket 4711" in page

    def test_supports_a_dry_run(self, signed_in_browser):
        printed = reset("--dry-run")

        assert "Would remove a passkey of ada@example.com." in printed
        assert "Would end 1 session." in printed
        assert Authenticator.objects.count() == len(EVERYTHING)
        assert signed_in_browser.get("/dashboard/").status_code == 200
        assert not audit_entries().exists()


class TestRefusal:
    @pytest.mark.parametrize("email", ["unknown@example.com", "plain@example.com"])
    def test_rejects_unknown_users_and_users_without_mfa(self, email):
        UserFactory(email="plain@example.com")

        with pytest.raises(CommandError):
            reset(email=email)

        assert not audit_entries().exists()

    def test_requires_a_reason(self):
        with pytest.raises(CommandError) as refusal:
            reset(reason=" ")

        assert refusal.value.returncode == 2
