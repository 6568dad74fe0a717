"""Passkeys that replace the password require user verification. A challenge is valid for one purpose."""

import html
import json
import re

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from freezegun import freeze_time

from dashboard.account.second_factor import webauthn_ceremonies
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import Device, passkey_of, signed_in

pytestmark = pytest.mark.django_db

LOGIN = "/dashboard/login/"
PASSKEY = "/dashboard/login/passkey/"
SECOND_STEP = "/dashboard/login/code/"
CONFIRM = "/dashboard/confirm/passkey/"
ADD = "/dashboard/account/passkeys/new/"


@pytest.fixture
def person(ada_member):
    return ada_member.user


@pytest.fixture
def device(person):
    device = Device()
    passkey_of(person, device=device)
    return device


@pytest.fixture
def stolen_key(person):
    """A security key of Ada's that does not verify its user."""
    device = Device(verifies=False)
    passkey_of(person, name="Key", device=device)
    return device


def sign_in_options(client):
    return client.get(PASSKEY, headers={"X-Requested-With": "XMLHttpRequest"}).json()["request_options"]


def options_on(page):
    return json.loads(html.unescape(re.search(r'data-options="([^"]+)"', page.content.decode()).group(1)))


def give_up_second_step(client):
    """Remove the pending sign-in from the session, as allauth does after fifteen minutes."""
    session = client.session
    del session["account_login"]
    session.save()


def is_in(client):
    return client.get("/dashboard/").status_code == 200


def is_confirmed(client):
    return client.get(ADD).status_code == 200


class TestSignIn:
    def test_needs_only_a_verified_passkey(self, visitor, person, device):
        options = sign_in_options(visitor)

        visitor.post(PASSKEY, {"credential": device.get(options, user=person)})

        assert options["publicKey"]["userVerification"] == "required"
        assert is_in(visitor)

    def test_is_rejected_without_user_verification(self, visitor, person, device):
        device.verifies = False

        visitor.post(PASSKEY, {"credential": device.get(sign_in_options(visitor), user=person)})

        assert not is_in(visitor)

    def test_is_rejected_with_a_passkey_added_without_verification(self, visitor, person, stolen_key):
        stolen_key.verifies = True  # the thief has set a PIN

        visitor.post(PASSKEY, {"credential": stolen_key.get(sign_in_options(visitor), user=person)})

        assert not is_in(visitor)

    def test_is_rejected_with_the_challenge_of_a_second_step(self, visitor, person, stolen_key, bisi_member):
        """Bisi signs in to her account with a password, then answers her second step's challenge with Ada's key."""
        passkey_of(bisi_member.user)
        visitor.post(LOGIN, {"email": "bisi@example.com", "password": PASSWORD})
        options = options_on(visitor.get(SECOND_STEP))
        give_up_second_step(visitor)

        visitor.post(PASSKEY, {"credential": stolen_key.get(options, user=person)})

        assert not is_in(visitor)

    def test_is_rejected_with_the_challenge_of_a_verified_second_step(
        self, visitor, person, device, bisi_member
    ):
        passkey_of(bisi_member.user)
        visitor.post(LOGIN, {"email": "bisi@example.com", "password": PASSWORD})
        options = options_on(visitor.get(SECOND_STEP))
        give_up_second_step(visitor)

        visitor.post(PASSKEY, {"credential": device.get(options, user=person)})

        assert not is_in(visitor)

    def test_accepts_a_challenge_once(self, visitor, person, device):
        device.verifies = False
        options = sign_in_options(visitor)
        visitor.post(PASSKEY, {"credential": device.get(options, user=person)})

        device.verifies = True
        visitor.post(PASSKEY, {"credential": device.get(options, user=person)})

        assert not is_in(visitor)

    def test_accepts_a_challenge_once_in_concurrent_requests(self, visitor, person, device):
        answer = device.get(sign_in_options(visitor), user=person)
        stored = dict(visitor.session.items())
        visitor.post(PASSKEY, {"credential": answer})
        twin = Client()
        session = twin.session  # as the second request read it
        session.update(stored)
        session.save()

        twin.post(PASSKEY, {"credential": answer})

        assert is_in(visitor)
        assert not is_in(twin)

    def test_is_rejected_in_another_session(self, visitor, person, device):
        answer = device.get(sign_in_options(visitor), user=person)
        other = Client()
        sign_in_options(other)

        other.post(PASSKEY, {"credential": answer})

        assert not is_in(other)

    def test_is_rejected_for_another_user(self, visitor, device, bisi_member):
        visitor.post(PASSKEY, {"credential": device.get(sign_in_options(visitor), user=bisi_member.user)})

        assert not is_in(visitor)

    def test_is_rejected_after_ten_minutes(self, visitor, person, device):
        with freeze_time() as clock:
            answer = device.get(sign_in_options(visitor), user=person)
            clock.tick(webauthn_ceremonies.LIFETIME.total_seconds() + 1)

            visitor.post(PASSKEY, {"credential": answer})

            assert not is_in(visitor)


class TestSecondStep:
    def test_accepts_a_passkey_after_the_password(self, visitor, device):
        visitor.post(LOGIN, {"email": "ada@example.com", "password": PASSWORD})
        options = options_on(visitor.get(SECOND_STEP))

        visitor.post(SECOND_STEP, {"credential": device.get(options)})

        assert is_in(visitor)

    def test_rejects_the_challenge_of_a_sign_in(self, visitor, device):
        options = sign_in_options(visitor)
        visitor.post(LOGIN, {"email": "ada@example.com", "password": PASSWORD})

        visitor.post(SECOND_STEP, {"credential": device.get(options)})

        assert not is_in(visitor)


class TestReauthentication:
    def test_accepts_a_verified_passkey(self, person, device):
        browser = signed_in(person, fresh=False)

        browser.post(CONFIRM, {"credential": device.get(options_on(browser.get(CONFIRM)))})

        assert is_confirmed(browser)

    def test_rejects_an_unverified_passkey(self, person, device):
        browser = signed_in(person, fresh=False)
        device.verifies = False

        browser.post(CONFIRM, {"credential": device.get(options_on(browser.get(CONFIRM)))})

        assert not is_confirmed(browser)

    def test_rejects_the_challenge_of_a_registration(self, person, device):
        browser = signed_in(person)
        options = options_on(browser.get(ADD))
        session = browser.session
        del session["account_authentication_methods"]
        session.save()

        browser.post(CONFIRM, {"credential": device.get(options)})

        assert not is_confirmed(browser)

    def test_rejects_the_challenge_of_another_user(self, person, device, bisi_member):
        passkey_of(bisi_member.user)
        hers, his = signed_in(bisi_member.user, fresh=False), signed_in(person, fresh=False)
        options = options_on(hers.get(CONFIRM))
        session = his.session
        session[webauthn_ceremonies.BEGUN] = hers.session[webauthn_ceremonies.BEGUN]
        session.save()

        his.post(CONFIRM, {"credential": device.get(options)})

        assert not is_confirmed(his)


class TestRegistration:
    def test_adds_a_verified_passkey(self, person):
        browser = signed_in(person)
        options = options_on(browser.get(ADD))

        browser.post(ADD, {"name": "Phone", "credential": Device().create(options)})

        assert options["publicKey"]["authenticatorSelection"]["userVerification"] == "required"
        assert Authenticator.objects.filter(user=person, type="webauthn").count() == 1

    @pytest.mark.parametrize("asked", [{}, {"passwordless": "on"}])
    def test_rejects_an_unverified_passkey_whatever_the_page_sent(self, person, asked):
        browser = signed_in(person)
        credential = Device(verifies=False).create(options_on(browser.get(ADD)))

        browser.post(ADD, {"name": "Key", "credential": credential} | asked)

        assert not Authenticator.objects.filter(type="webauthn").exists()

    def test_rejects_the_challenge_of_a_reauthentication(self, person, device):
        browser = signed_in(person)
        options = options_on(browser.get(CONFIRM))

        browser.post(ADD, {"name": "Phone", "credential": Device().create(options)})

        assert Authenticator.objects.filter(user=person, type="webauthn").count() == 1
