"""What moves money, shows a secret or changes rights asks whoever has not confirmed recently that it is them."""

import re
import time
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from django.utils import timezone

from config import urls
from ledger.models import Entry
from merchants.masking import mask_card_numbers
from merchants.models import ApiKey, Invitation, Member, User
from payments.models import CardOperation, Transaction
from tests.config.test_pages import Audit
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import passkey_of, signed_in
from tests.factories import MemberFactory, UserFactory
from tests.payments.test_four_eyes import TOP_UP, top_up
from tests.transactions import authorised_payment, captured_payment, challenged_payment

pytestmark = pytest.mark.django_db

HOURS = 5 * 3600
KEPT = "/dashboard/confirm/form/"
ASKED = "/dashboard/confirm/?next=%2Fdashboard%2Fconfirm%2Fform%2F"


def forgotten(request):
    """Be a page whose author thought neither of roles nor of reauthentication."""
    return HttpResponse(f"{request.method} {request.POST.get('name', '')}")


urlpatterns = [
    *urls.urlpatterns,
    path("dashboard/forgotten/", forgotten),
    path("admin-of-theirs/forgotten/", forgotten),
]
handler403 = urls.handler403


def stale(user, *, seconds=HOURS, client=None):
    """Return a client of somebody who signed in hours ago."""
    client = signed_in(user, client=client)
    age(client, seconds)
    return client


def age(client, seconds):
    session = client.session
    session["account_authentication_methods"] = [{"method": "password", "at": time.time() - seconds}]
    session.save()


def confirm(client, address):
    """Follow the way of somebody who is asked: page, password, page with the form. Return the last."""
    asked = client.get(address)
    assert "Confirm it's you" in asked.content.decode()
    then = re.search('name="next" value="([^"]+)"', asked.content.decode())[1]
    return client.post("/dashboard/confirm/", {"password": PASSWORD, "next": then}, follow=True)


def press_continue(client, page):
    """Send the form that a page shows, as a browser does."""
    text = page.content.decode()
    form = re.search(r'<form class="stack" method="post" action="([^"]+)">(.*?)</form>', text, re.DOTALL)
    fields = dict(re.findall('<input type="hidden" name="([^"]+)" value="([^"]*)">', form[2]))
    return client.post(form[1].replace("&amp;", "&"), fields)


@pytest.fixture
def staff():
    return UserFactory(email="staff@example.com", is_staff=True, is_superuser=True, password=PASSWORD)


class TestDashboard:
    @pytest.mark.parametrize(
        ("act", "payment_of", "form"),
        [
            ("refund", captured_payment, {"reference": "refund-1", "amount": "1"}),
            ("capture", authorised_payment, {"amount": "1"}),
            ("void", authorised_payment, {}),
            ("cancel", challenged_payment, {}),
        ],
    )
    def test_does_nothing_to_a_payment_before_it_has_asked(self, ada_member, act, payment_of, form):
        payment = payment_of(business=ada_member.business, now=timezone.now())
        before = list(Transaction.objects.values().order_by("pk")), CardOperation.objects.count()
        address = f"/dashboard/payments/{payment.pk}/{act}/"
        client = stale(ada_member.user)

        asked = client.post(address, form)

        assert asked["Location"] == ASKED
        assert (list(Transaction.objects.values().order_by("pk")), CardOperation.objects.count()) == before
        kept = confirm(client, asked["Location"])
        assert f"You asked to {act} a payment" in kept.content.decode()
        assert (list(Transaction.objects.values().order_by("pk")), CardOperation.objects.count()) == before
        assert press_continue(client, kept)["Location"] == f"/dashboard/payments/{payment.pk}/"
        assert (list(Transaction.objects.values().order_by("pk")), CardOperation.objects.count()) != before

    def test_asks_before_a_signed_in_person_joins_a_business(self, ada_member):
        owner = signed_in(ada_member.user)
        person = UserFactory(email="new@example.com", password=PASSWORD)
        page = owner.post("/dashboard/team/invite/", {"email": person.email, "role": "finance"})
        link = re.search(r"/dashboard/invitation/[^/]+/", page.content.decode())[0]

        asked = stale(person).post(link)

        assert asked["Location"] == ASKED
        assert not Member.objects.filter(user=person).exists()
        assert Invitation.objects.get().ended_at is None

    @pytest.mark.parametrize(
        "address",
        ["/dashboard/account/app/", "/dashboard/account/codes/", "/dashboard/account/passkeys/new/"],
    )
    def test_asks_before_a_page_that_shows_a_secret(self, ada_member, address):
        asked = stale(ada_member.user).get(address)

        assert asked["Location"].startswith("/dashboard/confirm/?next=%2Fdashboard%2Faccount%2F")

    def test_asks_who_may_before_it_says_to_others_that_they_may_not(self, ada_member):
        viewer = MemberFactory(business=ada_member.business, role="viewer", user__password=PASSWORD).user
        payment = captured_payment(business=ada_member.business, now=timezone.now())
        client = stale(viewer)

        kept = confirm(
            client, client.post(f"/dashboard/payments/{payment.pk}/refund/", {"amount": "1"})["Location"]
        )

        assert press_continue(client, kept).status_code == 403


class TestAdministration:
    def test_tops_no_wallet_up_before_it_has_asked(self, staff, ada):
        client = stale(staff)

        asked = client.post(TOP_UP, top_up(ada.business))

        assert asked["Location"] == ASKED
        assert not Entry.objects.exists()
        press_continue(client, confirm(client, asked["Location"]))
        assert Entry.objects.count() == 1

    def test_makes_no_superuser_before_it_has_asked(self, staff):
        person, group = UserFactory(), Group.objects.create(name="Everything")
        form = {
            "is_active": "on",
            "is_staff": "on",
            "is_superuser": "on",
            "groups": [group.pk],
            "reason": "x",
        }
        client = stale(staff)

        asked = client.post(f"/admin/merchants/user/{person.pk}/change/", form)

        assert asked["Location"] == ASKED
        assert not User.objects.get(pk=person.pk).is_superuser
        kept = confirm(client, asked["Location"])
        assert "You asked to change: user" in kept.content.decode()
        press_continue(client, kept)
        assert User.objects.get(pk=person.pk).is_superuser

    def test_gives_a_group_no_permission_before_it_has_asked(self, staff):
        group = Group.objects.create(name="Support")
        form = {"name": "Support", "permissions": [Permission.objects.first().pk], "reason": "x"}

        asked = stale(staff).post(f"/admin/auth/group/{group.pk}/change/", form)

        assert asked["Location"] == ASKED
        assert not group.permissions.exists()

    def test_does_nothing_for_whoever_is_not_staff_and_has_confirmed(self, ada_member, ada):
        client = stale(ada_member.user)
        kept = confirm(client, client.post(TOP_UP, top_up(ada.business))["Location"])

        press_continue(client, kept)

        assert not Entry.objects.exists()

    def test_is_confirmed_with_a_passkey_where_there_is_one(self, staff, ada):
        passkey_of(staff)
        client = stale(staff)

        asked = client.get(client.post(TOP_UP, top_up(ada.business))["Location"])

        text = asked.content.decode()
        assert "/dashboard/confirm/passkey/?next=%2Fdashboard%2Fconfirm%2Fform%2F" in text


@pytest.mark.urls("tests.dashboard.test_reauthentication")
class TestForgottenPage:
    """Nobody declared it, so it asks."""

    def test_asks_whoever_changes_something(self, ada_member):
        client = stale(ada_member.user)

        asked = client.post("/dashboard/forgotten/", {"name": "till"})
        kept = confirm(client, asked["Location"])

        assert asked["Location"] == ASKED
        assert "Till" not in kept.content.decode()
        assert press_continue(client, kept).content == b"POST till"

    @pytest.mark.parametrize("method", ["put", "patch", "delete"])
    def test_asks_for_every_method_that_changes_something(self, ada_member, method):
        assert getattr(stale(ada_member.user), method)("/dashboard/forgotten/")["Location"] == ASKED

    def test_is_open_to_whoever_only_looks(self, ada_member):
        assert stale(ada_member.user).get("/dashboard/forgotten/").content == b"GET "

    def test_is_closed_to_whoever_is_not_signed_in(self, db):
        assert Client().post("/dashboard/forgotten/")["Location"] == "/dashboard/login/"

    def test_asks_wherever_it_is(self, ada_member):
        assert stale(ada_member.user).post("/admin-of-theirs/forgotten/")["Location"] == ASKED


class TestRecent:
    def test_is_how_long_the_setting_says(self, ada_member, settings):
        settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = 120
        address, form = "/dashboard/team/invite/", {"email": "new@example.com", "role": "viewer"}

        assert stale(ada_member.user, seconds=100).post(address, form).status_code == 200
        assert stale(ada_member.user, seconds=121).post(address, form)["Location"] == ASKED

    def test_is_ten_minutes_unless_set(self, settings):
        assert settings.ACCOUNT_REAUTHENTICATION_TIMEOUT == 600

    def test_is_nobody_without_a_record_of_how_they_signed_in(self, ada_member):
        client = signed_in(ada_member.user, fresh=False)

        assert client.post("/dashboard/developers/keys/new/", {"name": "x"})["Location"] == ASKED


class TestKeptForm:
    FORM = {"name": "<b>till</b> \u202e", "access": "full", "once": "a"}

    def test_is_shown_and_sent_only_by_its_button(self, ada_member):
        client = stale(ada_member.user)
        before = ApiKey.objects.count()

        kept = confirm(client, client.post("/dashboard/developers/keys/new/", self.FORM)["Location"])

        text = kept.content.decode()
        assert "You asked to create an API key" in text
        assert "<b>till" not in text
        assert "Nothing has been done yet" in text
        assert Audit(text).findings == []
        assert ApiKey.objects.count() == before
        for _ in range(3):
            client.get(KEPT)
        assert ApiKey.objects.count() == before

    def test_is_gone_once_it_was_sent(self, ada_member):
        client = stale(ada_member.user)
        kept = confirm(
            client,
            client.post("/dashboard/team/invite/", {"email": "new@example.com", "role": "viewer"})[
                "Location"
            ],
        )
        press_continue(client, kept)

        page = client.get(KEPT, follow=True)

        assert "Nothing was waiting to be sent" in page.content.decode()

    def test_is_gone_after_a_while(self, ada_member, monkeypatch):
        client = stale(ada_member.user)
        client.post("/dashboard/developers/keys/new/", self.FORM)
        later = time.time() + 601
        monkeypatch.setattr("dashboard.reauthentication.time", SimpleNamespace(time=lambda: later))
        age(client, -601)  # confirmed again by then

        page = client.get(KEPT, follow=True)

        assert "Nothing was waiting to be sent" in page.content.decode()

    def test_is_gone_where_the_keys_that_encrypted_it_are(self, ada_member):
        client = signed_in(ada_member.user)
        session = client.session
        session["dashboard.kept_form"] = "not ours"
        session.save()

        assert "Nothing was waiting to be sent" in client.get(KEPT, follow=True).content.decode()

    def test_is_shown_to_nobody_who_has_not_confirmed(self, ada_member):
        client = stale(ada_member.user)
        client.post("/dashboard/developers/keys/new/", self.FORM)

        assert client.get(KEPT)["Location"] == ASKED
        assert Client().get(KEPT)["Location"].startswith("/dashboard/login/")

    def test_is_asked_for_again_where_the_confirmation_is_old_by_the_time_it_is_sent(self, ada_member):
        client = stale(ada_member.user)
        kept = confirm(client, client.post("/dashboard/developers/keys/new/", self.FORM)["Location"])
        age(client, HOURS)

        assert press_continue(client, kept)["Location"] == ASKED

    def test_lies_encrypted_in_the_session(self, ada_member):
        client = stale(ada_member.user)

        client.post("/dashboard/payouts/new/", {"name": "Chidi Obi", "account_number": "0123456789"})

        stored = Session.objects.get(session_key=client.session.session_key)
        assert "0123456789" not in str(stored.get_decoded())
        assert "Chidi" not in str(stored.get_decoded())
        assert "sessionid" not in str(stored.get_decoded())

    @pytest.mark.parametrize("secret", [{"name": "4111 1111 1111 1111"}, {"password": "hunter2"}])
    def test_keeps_no_card_number_and_no_password(self, ada_member, secret):
        client = stale(ada_member.user)
        referer = {"referer": "http://testserver/dashboard/payouts/new/?a=b"}

        asked = client.post("/dashboard/payouts/new/", {"reference": "r-1", **secret}, headers=referer)
        text = confirm(client, asked["Location"]).content.decode()

        assert "What you entered was not kept" in text
        assert 'href="/dashboard/payouts/new/?a=b"' in text
        assert "r-1" not in text

    def test_keeps_ids_whose_digits_could_be_a_card_number(self, staff, ada):
        cause = "41111111-1111-1111-8aaa-aaaaaaaaaaaa"
        client = stale(staff)

        kept = confirm(client, client.post(TOP_UP, top_up(ada.business, cause=cause))["Location"])

        assert mask_card_numbers(cause) != cause
        assert cause in kept.content.decode()

    @pytest.mark.parametrize(
        "referer",
        ["https://evil.example/dashboard/", "http://testserver//evil.example/", "javascript:alert(1)", ""],
    )
    def test_leads_back_to_our_own_pages_only(self, ada_member, referer):
        client = stale(ada_member.user)

        asked = client.post("/dashboard/team/invite/", {"email": "a@b.c"}, headers={"referer": referer})
        text = confirm(client, asked["Location"]).content.decode()

        assert "evil" not in text
        assert "javascript:" not in text
        assert 'href="/dashboard/"' in text

    def test_is_not_kept_where_another_site_posted_it(self, ada_member):
        client = stale(ada_member.user, client=Client(enforce_csrf_checks=True))

        forged = client.post("/dashboard/developers/keys/new/", self.FORM)

        assert forged.status_code == 403
        assert "dashboard.kept_form" not in client.session

    def test_confirmation_leads_nowhere_else(self, ada_member):
        client = stale(ada_member.user)

        done = client.post("/dashboard/confirm/", {"password": PASSWORD, "next": "https://evil.example/"})

        assert done["Location"] == "/dashboard/"

    def test_who_has_nothing_to_confirm_with_chooses_a_password(self, ada_member):
        ada_member.user.set_unusable_password()
        ada_member.user.save()

        asked = stale(ada_member.user).post("/dashboard/developers/keys/new/", self.FORM)

        assert asked["Location"] == "/dashboard/login/forgotten/"
