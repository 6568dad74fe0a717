"""The second step of sign-in: app codes, recovery codes, and the users for whom it is mandatory."""

import re
import time
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.admin import site
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from freezegun import freeze_time

from kit.db import encrypted_field
from merchants.models import AuditEntry, Member
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import passkey_of, signed_in
from tests.factories import UserFactory
from tests.frozen_redis import frozen_cache

pytestmark = pytest.mark.django_db

LOGIN = "/dashboard/login/"
SECOND_STEP = "/dashboard/login/code/"
APP = "/dashboard/account/app/"
CODES = "/dashboard/account/codes/"


def code_of(secret, *, steps=0):
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def secret_on(page):
    return re.search(r'data-secret="totp">([A-Z2-7]+)<', page.content.decode()).group(1)


def codes_on(page):
    return re.findall(r"<li><code>(\d{8})</code></li>", page.content.decode())


def sign_in(client, **extra):
    return client.post(LOGIN, {"email": "ada@example.com", "password": PASSWORD, **extra})


def actions():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "target"))


@pytest.fixture
def fresh(ada_member):
    return signed_in(ada_member.user)


@pytest.fixture
def secret(fresh, django_capture_on_commit_callbacks):
    """The TOTP secret, after Ada has set up the app."""
    secret = secret_on(fresh.get(APP))
    with django_capture_on_commit_callbacks(execute=True):
        assert fresh.post(APP, {"code": code_of(secret)})["Location"] == CODES
    return secret


class TestApp:
    def test_is_set_up_with_a_code_and_shows_recovery_codes(self, fresh, secret, ada_member):
        page = fresh.get(CODES)

        assert len(codes_on(page)) == 10
        assert "no-store" in page["Cache-Control"]
        assert actions()[-2:] == [("second_factor.added", "totp"), ("second_factor.added", "recovery_codes")]

    def test_is_not_set_up_with_a_wrong_code(self, fresh):
        secret = secret_on(fresh.get(APP))

        page = fresh.post(APP, {"code": "000000" if code_of(secret) != "000000" else "111111"})

        assert "Incorrect or already used code" in page.content.decode()
        assert secret_on(page) == secret
        assert not Authenticator.objects.exists()

    def test_keeps_its_key_encrypted(self, secret):
        stored = Authenticator.objects.get(type="totp").data["secret"]

        assert secret not in stored
        assert encrypted_field.decrypt(stored) == secret

    def test_can_be_turned_off(self, fresh, secret):
        answer = fresh.post("/dashboard/account/app/off/")

        assert answer["Location"] == "/dashboard/account/"
        assert not Authenticator.objects.exists()
        assert {"second_factor.removed"} == {action for action, _ in actions()[-2:]}


class TestRecoveryCodes:
    def test_are_shown_once(self, fresh, secret):
        first = codes_on(fresh.get(CODES))
        again = fresh.get(CODES)

        assert len(first) == 10
        assert codes_on(again) == []
        assert not any(code in again.content.decode() for code in first)
        assert "10 of 10 codes left" in again.content.decode()

    def test_can_be_downloaded_while_they_are_shown(self, fresh, secret):
        page = fresh.get(CODES)

        link = re.search(r'download="sluice-recovery-codes.txt" href="([^"]+)"', page.content.decode()).group(
            1
        )
        assert link == "data:text/plain;charset=utf-8," + "%0A".join(codes_on(page))

    def test_work_once_each(self, fresh, secret):
        code = codes_on(fresh.get(CODES))[0]

        statuses = []
        for client in (Client(), Client()):
            sign_in(client)
            statuses.append(client.post(SECOND_STEP, {"code": code}).status_code)

        assert statuses == [302, 200]

    def test_are_invalidated_by_new_ones(self, fresh, secret, django_capture_on_commit_callbacks):
        old = codes_on(fresh.get(CODES))

        with django_capture_on_commit_callbacks(execute=True):
            fresh.post("/dashboard/account/codes/new/")
        new = codes_on(fresh.get(CODES))

        assert len(new) == 10
        assert not set(old) & set(new)
        assert ("second_factor.renewed", "recovery_codes") in actions()


class TestSignIn:
    def test_requires_a_code_and_redirects_to_the_requested_page(self, secret, visitor):
        first = sign_in(visitor, next="/dashboard/?days=7")
        before = visitor.get("/dashboard/").status_code
        second = visitor.post(SECOND_STEP, {"code": code_of(secret, steps=1)})

        assert first["Location"] == SECOND_STEP
        assert before == 302
        assert second["Location"] == "/dashboard/?days=7"
        assert visitor.get("/dashboard/").status_code == 200
        assert actions()[-1] == ("session.signed_in", "")

    def test_accepts_a_code_once(self, secret):
        code = code_of(secret, steps=1)
        locations = []
        for client in (Client(), Client()):
            sign_in(client)
            locations.append(client.post(SECOND_STEP, {"code": code}).status_code)

        assert locations == [302, 200]

    def test_rejects_the_code_that_set_up_the_app(self, fresh, visitor, django_capture_on_commit_callbacks):
        secret = secret_on(fresh.get(APP))
        code = code_of(secret)
        with django_capture_on_commit_callbacks(execute=True):
            fresh.post(APP, {"code": code})
        sign_in(visitor)

        page = visitor.post(SECOND_STEP, {"code": code})

        assert "Incorrect or already used code" in page.content.decode()
        assert visitor.get("/dashboard/").status_code == 302

    def test_rejects_a_used_code_while_it_is_still_valid(self, secret, visitor):
        now = timezone.now()
        code = code_of(secret, steps=1)
        sign_in(visitor)
        visitor.post(SECOND_STEP, {"code": code})
        cache.clear()
        with freeze_time(now + timedelta(seconds=45)):
            other = Client()
            sign_in(other)

            assert other.post(SECOND_STEP, {"code": code}).status_code == 200

    @pytest.mark.parametrize("code", ["000000", "", "x" * 500, "١٢٣٤٥٦"])
    def test_shows_an_error_for_a_wrong_code(self, secret, visitor, code):
        sign_in(visitor)

        page = visitor.post(SECOND_STEP, {"code": code})

        assert page.status_code == 200
        assert 'role="alert"' in page.content.decode()
        assert visitor.get("/dashboard/").status_code == 302

    def test_stops_after_five_wrong_codes(self, secret, visitor):
        sign_in(visitor)
        for _ in range(5):
            visitor.post(SECOND_STEP, {"code": "000000"})

        page = visitor.post(SECOND_STEP, {"code": code_of(secret, steps=1)})

        assert "Too many failed attempts" in page.content.decode()
        assert ("second_factor.failed", "totp") in actions()

    def test_does_not_lock_out_the_account_owner(self, secret, visitor):
        """An attacker with the password guesses codes. Other addresses and known devices aren't affected."""
        sign_in(visitor)
        for _ in range(6):
            visitor.post(SECOND_STEP, {"code": "000000"})
        elsewhere = Client(REMOTE_ADDR="198.51.100.7")
        sign_in(elsewhere)

        answer = elsewhere.post(SECOND_STEP, {"code": code_of(secret, steps=1)})

        assert answer.status_code == 302

    def test_stops_after_thirty_wrong_codes_from_many_addresses(self, secret):
        pages = []
        for number in range(31):
            client = Client(REMOTE_ADDR=f"198.51.100.{number}")
            sign_in(client)
            pages.append(client.post(SECOND_STEP, {"code": "000000"}).content.decode())

        assert ["Too many failed attempts" in page for page in pages] == [False] * 30 + [True]

    def test_counts_recovery_codes_with_the_codes_of_the_app(self, secret, visitor, fresh):
        code = codes_on(fresh.get(CODES))[0]
        sign_in(visitor)
        for _ in range(5):
            visitor.post(SECOND_STEP, {"code": "00000000"})

        assert visitor.post(SECOND_STEP, {"code": code}).status_code == 200

    def test_works_and_is_limited_while_redis_is_frozen(self, secret, visitor, settings):
        with frozen_cache(settings):
            sign_in(visitor)
            right = visitor.post(SECOND_STEP, {"code": code_of(secret, steps=1)})
            guesser = Client(REMOTE_ADDR="198.51.100.7")
            sign_in(guesser)
            pages = [guesser.post(SECOND_STEP, {"code": "000000"}).content.decode() for _ in range(6)]

        assert right.status_code == 302
        assert ["Too many failed attempts" in page for page in pages] == [False] * 5 + [True]

    def test_rejects_a_malformed_passkey(self, subtests, ada_member, visitor):
        for junk in [
            "",
            "{}",
            "[]",
            "null",
            "[1]",
            '{"id": 1}',
            '{"id": "AA", "rawId": "AA", "response": {"userHandle": "MQ"}}',
            '{"response": {}}',
            "\x00",
            "[" * 60_000,
            '{"id":' * 9_000 + "1" + "}" * 9_000,
            '{"id": ' + "9" * 60_000 + "}",
        ]:
            with subtests.test(junk=junk):
                passkey_of(ada_member.user)
                sign_in(visitor)

                for address in (SECOND_STEP, "/dashboard/login/passkey/"):
                    assert visitor.post(address, {"credential": junk}).status_code in {200, 302}
                assert visitor.get("/dashboard/").status_code == 302

    def test_second_step_requires_a_password_first(self, visitor):
        assert visitor.get(SECOND_STEP)["Location"] == LOGIN


class TestObligation:
    @pytest.fixture(autouse=True)
    def _production(self, settings):
        settings.SECOND_FACTOR_REQUIRED = True

    def test_redirects_owners_to_setup_first(self, fresh):
        answer = fresh.get("/dashboard/")

        assert answer["Location"] == APP
        assert "Your role requires a second factor" in fresh.get(APP).content.decode()

    def test_accepts_an_app_or_a_passkey(self, fresh, ada_member):
        passkey_of(ada_member.user)

        assert fresh.get("/dashboard/").status_code == 200

    @pytest.mark.parametrize("role", [role for role in Member.Role if role != Member.Role.OWNER])
    def test_does_not_apply_to_other_roles(self, fresh, ada_member, role):
        ada_member.role = role
        ada_member.save()

        assert fresh.get("/dashboard/").status_code == 200

    def test_applies_to_staff(self):
        staff = UserFactory(is_staff=True, is_superuser=True, password=PASSWORD)
        browser = signed_in(staff)

        before = browser.get("/admin/")
        passkey_of(staff)

        assert before["Location"] == APP
        assert browser.get("/admin/").status_code == 200


class TestAdministration:
    def test_uses_the_same_sign_in_page(self, visitor):
        UserFactory(email="staff@example.com", password=PASSWORD, is_staff=True, is_superuser=True)

        door = visitor.get("/admin/", follow=True)
        answer = visitor.post(LOGIN, {"email": "staff@example.com", "password": PASSWORD, "next": "/admin/"})

        assert door.redirect_chain[-1][0] == "/dashboard/login/?next=%2Fadmin%2F"
        assert answer["Location"] == "/admin/"
        assert visitor.get("/admin/").status_code == 200

    def test_redirects_members_to_their_dashboard(self, browser):
        answer = browser.get("/admin/", follow=True)

        assert answer.redirect_chain[-1][0] == "/dashboard/"

    def test_shows_no_credentials(self):
        labels = {model._meta.app_label for model in site._registry}

        assert "merchants" in labels
        assert not labels & {"account", "mfa", "usersessions"}
