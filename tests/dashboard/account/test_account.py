"""The user's own account: password, password reset, sessions and reauthentication."""

import re
from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.account.sign_in import password_reset
from dashboard.models import PasswordResetRequest
from dashboard.tasks import mail_password_resets
from merchants.models import AuditEntry, User
from tests.addresses import is_asked
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import passkey_of, signed_in
from tests.developer_site.test_pages import Audit
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

ACCOUNT = "/dashboard/account/"
NEW = "quite another password"


def sign_in(client, password=PASSWORD):
    return client.post("/dashboard/login/", {"email": "ada@example.com", "password": password})


def actions():
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


class TestConfirmation:
    NEW_KEY = "/dashboard/developers/keys/new/"

    def test_is_not_required_right_after_sign_in(self, visitor, ada_member):
        sign_in(visitor)

        assert visitor.post(self.NEW_KEY, {"name": ""}).status_code == 200

    def test_is_a_full_page_and_never_a_partial(self, ada_member):
        browser = signed_in(ada_member.user, fresh=False)

        held = browser.get("/dashboard/payouts/new/", headers={"HX-Request": "true"})

        assert held.status_code == 200
        assert held["HX-Redirect"] == "/dashboard/confirm/?next=%2Fdashboard%2Fpayouts%2Fnew%2F"
        assert held.content == b""

    def test_rejects_a_wrong_password(self, ada_member):
        browser = signed_in(ada_member.user, fresh=False)

        page = browser.post("/dashboard/confirm/", {"password": "wrong"})

        assert "Incorrect password" in page.content.decode()
        assert is_asked(browser.post(self.NEW_KEY))
        assert "session.confirmation_failed" in actions()


class TestAccountPage:
    def test_follows_the_content_security_policy(self, browser, ada_member):
        passkey_of(ada_member.user, name="<script>alert(1)</script>")

        page = browser.get(ACCOUNT)

        assert Audit(page.content.decode()).findings == []
        assert page.content.decode().count("<h1") == 1
        assert "no-store" in page["Cache-Control"]

    def test_is_available_without_a_business(self):
        staff = UserFactory(email="staff@example.com", is_staff=True, is_superuser=True, password=PASSWORD)

        page = signed_in(staff).get(ACCOUNT)

        assert page.status_code == 200
        assert 'href="/admin/"' in page.content.decode()

    def test_saves_a_name(self, browser, ada_member):
        browser.post("/dashboard/account/name/", {"name": "  Ada \x00 Obi\n"})

        ada_member.user.refresh_from_db()
        assert ada_member.user.name == "Ada Obi"


class TestPassword:
    def test_is_changed_with_the_current_one_and_ends_other_sessions(self, ada_member):
        here, elsewhere = Client(), Client()
        sign_in(here)
        sign_in(elsewhere)

        here.post(
            "/dashboard/account/password/", {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
        )

        assert here.get("/dashboard/").status_code == 200
        assert elsewhere.get("/dashboard/").status_code == 302
        assert "password.changed" in actions()
        assert sign_in(Client(), NEW).status_code == 302

    @pytest.mark.parametrize(
        ("form", "complaint"),
        [
            ({"oldpassword": "wrong", "password1": NEW, "password2": NEW}, "Incorrect password"),
            ({"oldpassword": PASSWORD, "password1": "short", "password2": "short"}, "too short"),
            ({"oldpassword": PASSWORD, "password1": NEW, "password2": "different"}, "same password"),
        ],
    )
    def test_shows_an_error_message(self, browser, form, complaint):
        page = browser.post("/dashboard/account/password/", form)

        assert page.status_code == 200
        assert complaint in page.content.decode()


class TestForgottenPassword:
    def link(self, settings):
        mail_password_resets()
        (address,) = re.findall(r"https?://\S+", mail.outbox[-1].body)
        assert address.startswith(settings.PUBLIC_URL)
        return address.removeprefix(settings.PUBLIC_URL)

    def test_is_replaced_by_a_link_that_works_once(self, visitor, ada_member, settings):
        visitor.post(
            "/dashboard/login/forgotten/",
            {"email": "ADA@example.com"},
            headers={"host": "evil.example"},
        )
        address = self.link(settings)
        page = visitor.get(address, follow=True)
        form = page.redirect_chain[-1][0]
        done = visitor.post(form, {"password1": NEW, "password2": NEW})

        assert mail.outbox[0].to == ["ada@example.com"]
        assert address.split("/")[-2] not in form
        assert done["Location"] == "/dashboard/login/new-password/set/"
        assert "password.reset" in actions()
        assert sign_in(Client(), NEW).status_code == 302
        assert "no longer works" in Client().get(address).content.decode()

    def test_does_not_prevent_setting_up_an_app(self, visitor, ada_member, settings):
        visitor.post("/dashboard/login/forgotten/", {"email": "ada@example.com"})
        form = visitor.get(self.link(settings), follow=True).redirect_chain[-1][0]
        visitor.post(form, {"password1": NEW, "password2": NEW})
        browser = Client()
        sign_in(browser, NEW)

        page = browser.get("/dashboard/account/app/")

        assert page.status_code == 200
        assert 'name="code"' in page.content.decode()

    def test_gets_the_same_response_for_an_unknown_address(self, visitor, ada_member):
        answers = [
            visitor.post("/dashboard/login/forgotten/", {"email": email})
            for email in ("ada@example.com", "unknown@example.com")
        ]

        mail_password_resets()
        assert {answer["Location"] for answer in answers} == {"/dashboard/login/forgotten/sent/"}
        assert [message.to for message in mail.outbox] == [["ada@example.com"]]

    def test_takes_the_same_work_for_an_unknown_address(self, visitor, ada_member):
        work = []
        for email in ("warms-up@example.com", "ada@example.com", "zoe@example.com"):
            with CaptureQueriesContext(connection) as queries:
                visitor.post("/dashboard/login/forgotten/", {"email": email})
            work.append([re.sub(r"'[^']*'|\d+", "?", query["sql"]) for query in queries])

        assert work[1] == work[2]
        assert mail.outbox == []

    def test_is_stored_without_a_secret_until_it_is_mailed(self, visitor, ada_member, settings):
        visitor.post("/dashboard/login/forgotten/", {"email": "ada@example.com"})
        (kept,) = PasswordResetRequest.objects.values()
        address = self.link(settings)

        assert kept.keys() == {"id", "email", "requested_at", "leased_until"}
        assert kept["email"] == "ada@example.com"
        assert not PasswordResetRequest.objects.exists()
        assert Client().get(address).status_code == 302
        mail_password_resets()
        assert len(mail.outbox) == 1

    def test_is_retried_if_the_mail_server_fails(self, visitor, ada_member, monkeypatch):
        visitor.post("/dashboard/login/forgotten/", {"email": "ada@example.com"})
        now = timezone.now()
        with monkeypatch.context() as broken:
            broken.setattr("dashboard.account.sign_in.password_reset.send_mail", _refuse_mail)
            assert password_reset.mail_due(now=now) == 0

        assert password_reset.mail_due(now=now + timedelta(seconds=59)) == 0  # leased
        assert mail.outbox == []
        assert password_reset.mail_due(now=now + timedelta(seconds=61)) == 1
        assert len(mail.outbox) == 1

    def test_is_dropped_if_the_mail_server_fails_for_an_hour(self, visitor, ada_member):
        visitor.post("/dashboard/login/forgotten/", {"email": "ada@example.com"})

        assert password_reset.mail_due(now=timezone.now() + timedelta(hours=1, seconds=1)) == 0
        assert mail.outbox == []
        assert not PasswordResetRequest.objects.exists()

    def test_is_not_mailed_to_a_closed_account(self, visitor, ada_member):
        User.objects.update(is_active=False)
        visitor.post("/dashboard/login/forgotten/", {"email": "ada@example.com"})

        mail_password_resets()
        assert mail.outbox == []

    def test_is_not_mailed_repeatedly(self, visitor, ada_member):
        statuses = [
            visitor.post("/dashboard/login/forgotten/", {"email": "ada@example.com"}).status_code
            for _ in range(4)
        ]

        assert statuses == [302, 302, 302, 429]


class TestSessions:
    @pytest.fixture
    def two(self, ada_member):
        here = Client(headers={"user-agent": "Mozilla/5.0 (X11; Linux) Firefox/140.0"})
        elsewhere = Client(headers={"user-agent": "Mozilla/5.0 (iPhone) Safari/604.1"})
        sign_in(here)
        sign_in(elsewhere)
        return here, elsewhere

    def test_are_listed_with_their_location(self, two):
        page = two[0].get(ACCOUNT).content.decode()

        assert "Firefox on Linux" in page
        assert "Safari on iPhone" in page

    def test_can_be_ended_one_by_one(self, two):
        here, elsewhere = two
        session = UserSession.objects.get(session_key=elsewhere.session.session_key)

        here.post(f"/dashboard/account/sessions/{session.pk}/end/")

        assert elsewhere.get("/dashboard/").status_code == 302
        assert here.get("/dashboard/").status_code == 200
        assert "session.ended" in actions()

    def test_can_be_ended_except_the_current_one(self, two):
        here, elsewhere = two

        here.post("/dashboard/account/sessions/end-others/")

        assert elsewhere.get("/dashboard/").status_code == 302
        assert here.get("/dashboard/").status_code == 200
        assert "session.others_ended" in actions()


def _refuse_mail(*_args, **_kwargs):
    raise ConnectionRefusedError
