"""Spellings of one e-mail address are one address, for accounts, sign-in, limits and invitations."""

import pytest
from django.test import Client

from dashboard.models import PasswordResetRequest
from merchants.models import User
from tests.dashboard.conftest import PASSWORD

SPELLINGS = [
    "zoe@bücher.example",
    "ZOE@BÜCHER.example",
    "zoe@xn--bcher-kva.example",
    "zoe@\uff42\u00fccher.example",
]


@pytest.fixture
def zoe(db):
    return User.objects.create_user("Zoe@Bücher.example", PASSWORD)


class TestAccount:
    def test_stores_the_address_that_mail_is_sent_to(self, zoe):
        assert zoe.email == "zoe@xn--bcher-kva.example"

    @pytest.mark.parametrize("email", SPELLINGS)
    def test_accepts_sign_in_with_any_spelling(self, zoe, email):
        answer = Client().post("/dashboard/login/", {"email": email, "password": PASSWORD})

        assert answer.status_code == 302

    def test_shares_its_limit_among_all_spellings(self, zoe):
        browser = Client()
        emails = [SPELLINGS[number % len(SPELLINGS)] for number in range(6)]

        statuses = [
            browser.post("/dashboard/login/", {"email": email, "password": "wrong"}).status_code
            for email in emails
        ]

        assert statuses == [200] * 5 + [429]

    def test_accepts_password_resets_with_any_spelling(self, zoe):
        Client().post("/dashboard/login/forgotten/", {"email": SPELLINGS[0]})

        assert PasswordResetRequest.objects.get().email == "zoe@xn--bcher-kva.example"
