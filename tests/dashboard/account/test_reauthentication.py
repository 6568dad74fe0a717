"""Actions on money, secrets and rights require recent reauthentication."""

import re
import time

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp_codes
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.models import Session
from django.test import Client, RequestFactory
from django.utils import timezone

from dashboard.memberships import FORM_BUSINESS
from kit import banks
from ledger.models import Entry
from merchants.models import ApiKey, Business, Invitation, Member, User
from payments.models import CardOperation, Transaction
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import Device, passkey_of, signed_in
from tests.developer_site.test_pages import Audit
from tests.factories import MemberFactory, UserFactory
from tests.payments.services.staff.test_four_eyes import TOP_UP, top_up
from tests.transactions import authorised_payment, captured_payment, challenged_payment
from tests.webhooks.rows import make_delivery, make_endpoint

pytestmark = pytest.mark.django_db

HOURS = 5 * 3600
DONE = "/dashboard/confirm/done/"
BY_PASSKEY = "/dashboard/confirm/passkey/"
SECRET = "JBSWY3DPEHPK3PXP"


def code_now():
    return totp_codes.format_hotp_value(totp_codes.hotp_value(SECRET, int(time.time()) // 30))


def stale(user, *, seconds=HOURS, client=None):
    """Return a client that signed in hours ago."""
    client = signed_in(user, client=client)
    age(client, seconds)
    return client


def age(client, seconds):
    session = client.session
    session["account_authentication_methods"] = [{"method": "password", "at": time.time() - seconds}]
    session.save()


def is_refused(answer):
    """Return whether a form was refused, with a link to confirm in a new tab."""
    return "Confirm in a new tab" in answer.content.decode()


def confirmation(client, refused):
    """Return the page that the link of a refused form opens."""
    address = re.search('href="([^"]+)" target="_blank"', refused.content.decode())[1]
    return client.get(address)


def confirm(client, refused):
    """Confirm with the password in a new tab. Return the page of the refused form, which is still open."""
    asked = confirmation(client, refused)
    assert "Confirm it's you" in asked.content.decode()
    then = re.search('name="next" value="([^"]+)"', asked.content.decode())[1]
    done = client.post("/dashboard/confirm/", {"password": PASSWORD, "next": then}, follow=True)
    assert "continue in the other one" in done.content.decode()
    return refused


def press_continue(client, page):
    """Submit the form of a page, as a browser does."""
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
            ("refund", captured_payment, {"reference": "refund-1", "amount": "1", "step": "confirmed"}),
            ("capture", authorised_payment, {"amount": "1"}),
            ("void", authorised_payment, {}),
            ("cancel", challenged_payment, {}),
        ],
    )
    def test_is_required_before_a_payment_changes(self, ada_member, act, payment_of, form):
        payment = payment_of(business=ada_member.business, now=timezone.now())
        before = list(Transaction.objects.values().order_by("pk")), CardOperation.objects.count()
        address = f"/dashboard/payments/{payment.pk}/{act}/"
        client = stale(ada_member.user)

        asked = client.post(address, form)

        assert is_refused(asked)
        assert (list(Transaction.objects.values().order_by("pk")), CardOperation.objects.count()) == before
        kept = confirm(client, asked)
        assert f"You asked to {act} a payment" in kept.content.decode()
        assert (list(Transaction.objects.values().order_by("pk")), CardOperation.objects.count()) == before
        assert press_continue(client, kept)["Location"] == f"/dashboard/payments/{payment.pk}/"
        assert (list(Transaction.objects.values().order_by("pk")), CardOperation.objects.count()) != before

    def test_is_required_before_joining_a_business(self, ada_member):
        owner = signed_in(ada_member.user)
        person = UserFactory(email="new@example.com", password=PASSWORD)
        page = owner.post("/dashboard/team/invite/", {"email": person.email, "role": "finance"})
        link = re.search(r"/dashboard/invitation/[^/]+/", page.content.decode())[0]

        asked = stale(person).post(link)

        assert is_refused(asked)
        assert not Member.objects.filter(user=person).exists()
        assert Invitation.objects.get().ended_at is None

    @pytest.mark.parametrize(
        "address",
        ["/dashboard/account/app/", "/dashboard/account/codes/", "/dashboard/account/passkeys/new/"],
    )
    def test_is_required_before_a_page_that_shows_a_secret(self, ada_member, address):
        asked = stale(ada_member.user).get(address)

        assert asked["Location"].startswith("/dashboard/confirm/?next=%2Fdashboard%2Faccount%2F")

    def test_is_required_before_the_role_is_checked(self, ada_member):
        viewer = MemberFactory(business=ada_member.business, role="viewer", user__password=PASSWORD).user
        payment = captured_payment(business=ada_member.business, now=timezone.now())
        client = stale(viewer)

        kept = confirm(client, client.post(f"/dashboard/payments/{payment.pk}/refund/", {"amount": "1"}))

        assert press_continue(client, kept).status_code == 403


class TestAdministration:
    def test_top_up_needs_confirmation(self, staff, ada):
        client = stale(staff)

        asked = client.post(TOP_UP, top_up(ada.business))

        assert is_refused(asked)
        assert not Entry.objects.exists()
        press_continue(client, confirm(client, asked))
        assert Entry.objects.count() == 1

    def test_making_a_superuser_needs_confirmation(self, staff):
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

        assert is_refused(asked)
        assert not User.objects.get(pk=person.pk).is_superuser
        kept = confirm(client, asked)
        assert "You asked to change the user <bdi>" in kept.content.decode()
        press_continue(client, kept)
        assert User.objects.get(pk=person.pk).is_superuser

    @pytest.mark.long
    def test_accepts_a_code_of_the_app(self, staff, ada):
        TOTP.activate(staff, SECRET)
        client = stale(staff)
        asked = client.post(TOP_UP, top_up(ada.business))

        wrong = client.post("/dashboard/confirm/code/", {"code": "000000", "next": DONE}, follow=True)
        assert "Incorrect or already used code" in wrong.content.decode()
        assert client.get(DONE)["Location"].startswith("/dashboard/confirm/")
        done = client.post("/dashboard/confirm/code/", {"code": code_now(), "next": DONE}, follow=True)

        assert "continue in the other one" in done.content.decode()
        assert not Entry.objects.exists()
        press_continue(client, asked)
        assert Entry.objects.count() == 1

    @pytest.mark.long
    def test_accepts_a_recovery_code(self, staff, ada):
        TOTP.activate(staff, SECRET)
        (code, *_) = RecoveryCodes.activate(staff).get_unused_codes()
        client = stale(staff)
        asked = client.post(TOP_UP, top_up(ada.business))

        client.post("/dashboard/confirm/code/", {"code": code, "next": DONE}, follow=True)

        press_continue(client, asked)
        assert Entry.objects.count() == 1

    @pytest.mark.long
    def test_accepts_a_passkey(self, staff, ada):
        device = Device()
        passkey_of(staff, device=device)
        client = stale(staff)
        asked = client.post(TOP_UP, top_up(ada.business))
        options = client.get(BY_PASSKEY).context["js_data"]["request_options"]

        foreign = client.post(BY_PASSKEY, {"credential": Device().get(options), "next": DONE}, follow=True)
        assert foreign.request["PATH_INFO"] != DONE
        options = client.get(BY_PASSKEY).context["js_data"]["request_options"]
        client.post(BY_PASSKEY, {"credential": device.get(options), "next": DONE}, follow=True)

        assert not Entry.objects.exists()
        press_continue(client, asked)
        assert Entry.objects.count() == 1

    def test_changing_a_group_needs_confirmation(self, staff):
        group = Group.objects.create(name="Support")
        form = {"name": "Support", "permissions": [Permission.objects.first().pk], "reason": "x"}

        asked = stale(staff).post(f"/admin/auth/group/{group.pk}/change/", form)

        assert is_refused(asked)
        assert not group.permissions.exists()

    def test_does_nothing_for_a_confirmed_user_who_is_not_staff(self, ada_member, ada):
        client = stale(ada_member.user)
        kept = confirm(client, client.post(TOP_UP, top_up(ada.business)))

        press_continue(client, kept)

        assert not Entry.objects.exists()

    def test_prefers_a_passkey(self, staff, ada):
        passkey_of(staff)
        client = stale(staff)

        text = confirmation(client, client.post(TOP_UP, top_up(ada.business))).content.decode()

        assert "/dashboard/confirm/passkey/?next=%2Fdashboard%2Fconfirm%2Fdone%2F" in text


class TestRecent:
    def test_lasts_as_long_as_configured(self, ada_member, settings):
        settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = 120
        address, form = "/dashboard/team/invite/", {"email": "new@example.com", "role": "viewer"}

        assert stale(ada_member.user, seconds=100).post(address, form).status_code == 200
        assert is_refused(stale(ada_member.user, seconds=121).post(address, form))

    def test_lasts_ten_minutes_by_default(self, settings):
        assert settings.ACCOUNT_REAUTHENTICATION_TIMEOUT == 600

    def test_needs_a_record_of_the_sign_in(self, ada_member):
        client = signed_in(ada_member.user, fresh=False)

        assert is_refused(client.post("/dashboard/developers/keys/new/", {"name": "x"}))


def entered(page):
    """Return the labels and values that the page of a kept form shows."""
    pairs = re.findall(r"<dt>(.*?)</dt><dd><bdi>(.*?)</bdi></dd>", page.content.decode())
    return dict(pairs)


def said(page):
    return re.search("You asked to (.*?)\\. Nothing has changed yet", page.content.decode())[1]


class TestSummary:
    """The page of a refused form describes the requested change in plain language."""

    @pytest.fixture
    def amaka(self):
        return UserFactory(email="amaka@example.com", name="Amaka Eze", is_active=True)

    @staticmethod
    def refused(user, address, form):
        return stale(user).post(address, form)

    def test_names_the_record_and_what_changes(self, staff, amaka):
        group = Group.objects.create(name="Support")
        form = {"is_superuser": "on", "is_staff": "on", "groups": [group.pk], "reason": "She joined us"}

        page = self.refused(staff, f"/admin/merchants/user/{amaka.pk}/change/", form | {"_save": "Save"})

        assert said(page) == "change the user <bdi>amaka@example.com</bdi>"
        assert entered(page) == {
            "Is active": "No (was Yes)",  # an unchecked box is not posted
            "Is staff": "Yes (was No)",
            "Superuser status": "Yes (was No)",
            "Groups": "Support",
            "Reason": "She joined us",
        }

    def test_names_the_business_of_a_top_up(self, staff, ada):
        page = self.refused(staff, TOP_UP, top_up(ada.business))

        assert said(page) == "add entries"
        assert entered(page)["Business"] == ada.business.name
        assert str(ada.business.pk) not in entered(page).values()
        assert not {"Cause", "cause"} & set(entered(page))

    def test_names_the_permissions_of_a_group(self, staff):
        group, right = Group.objects.create(name="Support"), Permission.objects.get(codename="view_user")
        form = {"name": "Support", "permissions": [right.pk], "reason": "New colleague"}

        page = self.refused(staff, f"/admin/auth/group/{group.pk}/change/", form)

        assert said(page) == "change the group <bdi>Support</bdi>"
        assert entered(page) == {"Permissions": str(right), "Reason": "New colleague"}

    def test_counts_the_rows_of_a_list(self, staff):
        delivery = make_delivery(make_endpoint())
        form = {
            "action": "replay_chosen",
            "_selected_action": [delivery.pk],
            "select_across": "0",
            "reason": "Lost",
        }

        page = self.refused(staff, "/admin/webhooks/delivery/", form)

        assert said(page) == "run an action on deliveries"
        assert (entered(page)["Selected rows"], entered(page)["Reason"]) == ("1", "Lost")
        assert set(entered(page)) == {"Action", "Selected rows", "Reason"}

    def test_names_the_record_that_an_action_is_for(self, staff):
        delivery = make_delivery(make_endpoint())

        page = self.refused(staff, f"/admin/webhooks/delivery/{delivery.pk}/replay/", {"reason": "Lost"})

        assert said(page) == f"resend a delivery <bdi>{delivery}</bdi>"

    @pytest.mark.long
    @pytest.mark.parametrize("rights", [{}, {"is_staff": True}])
    def test_shows_no_names_to_others(self, amaka, ada, rights):
        """Otherwise, users who may not submit the form could look up names by posting ids."""
        person = UserFactory(email="eve@example.com", password=PASSWORD, **rights)

        for address, form in (
            (f"/admin/merchants/user/{amaka.pk}/change/", {"reason": "x"}),
            (TOP_UP, top_up(ada.business)),
            (f"/admin/merchants/business/{ada.business.pk}/change/", {"reason": "x"}),
            (f"/admin/payments/settlementbatch/{ada.business.pk}/decide/", {"reason": "x"}),
        ):
            text = self.refused(person, address, form).content.decode()
            assert "amaka@example.com" not in text
            assert ada.business.name not in text

    def test_shows_no_superuser_to_staff_who_may_change_users(self, staff):
        clerk = UserFactory(email="clerk@example.com", is_staff=True, password=PASSWORD)
        clerk.user_permissions.set(Permission.objects.filter(codename="change_user"))

        page = self.refused(clerk, f"/admin/merchants/user/{staff.pk}/change/", {"reason": "x"})

        assert staff.email not in page.content.decode()

    @pytest.mark.parametrize("pk", ["0", "999999", "nonsense", "_5F"])
    def test_handles_missing_records(self, staff, pk):
        page = self.refused(staff, f"/admin/merchants/user/{pk}/change/", {"reason": "x"})

        assert said(page) == "change users"

    def test_handles_malformed_forms(self, staff, amaka):
        form = {"groups": ["x", "9999"], "is_staff": "maybe", "reason": "\u202e" * 500, "-TOTAL_FORMS": "x"}

        assert self.refused(staff, f"/admin/merchants/user/{amaka.pk}/change/", form).status_code == 200
        assert self.refused(staff, TOP_UP, {"business": "nonsense", "amount": "x"}).status_code == 200

    def test_shows_names_of_banks_and_checkboxes(self, ada_member):
        form = {"bank_code": "058", "account_number": "0123456789", "name": "Chidi", "step": "confirmed"}
        page = self.refused(ada_member.user, "/dashboard/payouts/new/", form)
        assert entered(page) == {
            "Bank": banks.find("058").name,
            "Account number": "0123456789",
            "Name": "Chidi",
        }

        page = self.refused(
            ada_member.user, "/dashboard/webhooks/", {"url": "https://a.example/", "enabled": "on"}
        )
        assert entered(page) == {"URL": "https://a.example/", "Enabled": "Yes"}

    def test_hides_a_bvn(self, ada_member):
        page = self.refused(ada_member.user, "/dashboard/virtual-accounts/new/", {"bvn": "22123456789"})

        assert entered(page) == {"BVN": "Entered"}

    def test_omits_codes(self, ada_member):
        page = self.refused(ada_member.user, "/dashboard/account/app/", {"code": "123456"})

        assert "aren't shown again" in page.content.decode()
        assert "123456" not in page.content.decode()

    @pytest.mark.parametrize(
        "model", [model for model, each in admin.site._registry.items() if each.adders or each.changers]
    )
    def test_shows_labels_instead_of_field_names(self, staff, model):
        address = f"/admin/{model._meta.label_lower.replace('.', '/')}/"
        pages = admin.site._registry[model]
        request = RequestFactory().get(address)
        request.user = staff
        names = list(pages.get_form(request).base_fields)
        assert names

        page = self.refused(staff, f"{address}add/", dict.fromkeys(names, "x"))

        assert [shown for shown in entered(page) if "_" in shown or shown[0].islower()] == []


class TestRefusedForm:
    FORM = {"name": "<b>till</b> \u202e", "access": "full", "once": "a"}

    @pytest.mark.parametrize(
        "address", ["/dashboard/payouts/new/", "/dashboard/developers/keys/new/", "/dashboard/team/invite/"]
    )
    def test_is_rare_because_its_page_asks_first(self, ada_member, address):
        assert stale(ada_member.user).get(address)["Location"].startswith("/dashboard/confirm/?next=")

    def test_is_submitted_only_by_its_button(self, ada_member):
        client = stale(ada_member.user)
        before = ApiKey.objects.count()

        text = confirm(client, client.post("/dashboard/developers/keys/new/", self.FORM)).content.decode()

        assert "You asked to create an API key" in text
        assert "<b>till" not in text
        assert "Nothing has changed yet" in text
        assert Audit(text).findings == []
        assert ApiKey.objects.count() == before

    def test_is_refused_again_before_confirmation_and_when_it_is_late(self, ada_member):
        client = stale(ada_member.user)
        refused = client.post("/dashboard/developers/keys/new/", self.FORM)

        assert is_refused(press_continue(client, refused))
        confirm(client, refused)
        age(client, HOURS)
        assert is_refused(press_continue(client, refused))

    def test_is_stored_nowhere(self, ada_member):
        client = stale(ada_member.user)

        refused = client.post(
            "/dashboard/payouts/new/", {"name": "Chidi Obi", "account_number": "0123456789"}
        )

        stored = Session.objects.get(session_key=client.session.session_key)
        assert "Chidi" in refused.content.decode()
        assert "Chidi" not in str(stored.get_decoded())
        assert "no-store" in refused["Cache-Control"]

    def test_is_not_submitted_for_another_business(self, ada_member, bisi):
        MemberFactory(business=bisi.business, user=ada_member.user, role="owner")
        client = stale(ada_member.user)
        client.post("/dashboard/business/", {"business": str(ada_member.business.pk)})
        form = {"reference": "r-1", "step": "confirmed", FORM_BUSINESS: str(ada_member.business.pk)}
        refused = client.post("/dashboard/payouts/new/", form)
        client.post("/dashboard/business/", {"business": str(bisi.business.pk)})

        assert press_continue(client, confirm(client, refused)).status_code == 409

    def test_is_not_submitted_for_another_business_after_the_first_one_closed(self, ada_member, bisi):
        MemberFactory(business=bisi.business, user=ada_member.user, role="owner")
        client = stale(ada_member.user)
        client.post("/dashboard/business/", {"business": str(ada_member.business.pk)})
        form = {"reference": "r-1", "step": "confirmed", FORM_BUSINESS: str(ada_member.business.pk)}
        refused = client.post("/dashboard/payouts/new/", form)
        Business.objects.filter(pk=ada_member.business.pk).update(is_active=False)

        assert press_continue(client, confirm(client, refused)).status_code == 409

    def test_shows_values_with_leading_spaces(self, ada_member):
        client = stale(ada_member.user)

        refused = client.post("/dashboard/payouts/new/", {"amount": " " * 300 + "5000000"})

        assert "5000000</bdi>" in refused.content.decode()

    def test_marks_truncated_values(self, ada_member):
        client = stale(ada_member.user)

        refused = client.post("/dashboard/payouts/new/", {"narration": "a" * 300})

        assert f"{'a' * 199}…</bdi>" in refused.content.decode()

    @pytest.mark.parametrize("secret", [{"name": "4111 1111 1111 1111"}, {"password": "hunter2"}])
    def test_shows_no_card_number_and_no_password(self, ada_member, secret):
        client = stale(ada_member.user)
        referer = {"referer": "http://testserver/dashboard/payouts/new/?a=b"}

        refused = client.post("/dashboard/payouts/new/", {"reference": "r-1", **secret}, headers=referer)

        text = confirm(client, refused).content.decode()
        assert "Your entries aren't shown again" in text
        assert 'href="/dashboard/payouts/new/?a=b"' in text
        assert "r-1" not in text

    def test_keeps_ids_whose_digits_could_be_a_card_number(self, staff, ada):
        cause = "41111111-1111-1111-8aaa-aaaaaaaaaaaa"

        refused = stale(staff).post(TOP_UP, top_up(ada.business, cause=cause))

        assert cause in refused.content.decode()

    @pytest.mark.parametrize(
        "referer",
        ["https://evil.example/dashboard/", "http://testserver//evil.example/", "javascript:alert(1)", ""],
    )
    def test_returns_to_our_own_pages_only(self, ada_member, referer):
        client = stale(ada_member.user)

        refused = client.post("/dashboard/team/invite/", {"email": "a@b.c"}, headers={"referer": referer})

        text = refused.content.decode()
        assert "evil" not in text
        assert "javascript:" not in text
        assert 'href="/dashboard/"' in text

    def test_is_not_shown_if_another_site_posted_it(self, ada_member):
        client = stale(ada_member.user, client=Client(enforce_csrf_checks=True))

        forged = client.post("/dashboard/developers/keys/new/", self.FORM)

        assert forged.status_code == 403
        assert "till" not in forged.content.decode()

    def test_confirmation_redirects_to_no_other_site(self, ada_member):
        client = stale(ada_member.user)

        done = client.post("/dashboard/confirm/", {"password": PASSWORD, "next": "https://evil.example/"})

        assert done["Location"] == "/dashboard/"

    def test_user_without_a_password_or_passkey_sets_a_password(self, ada_member):
        ada_member.user.set_unusable_password()
        ada_member.user.save()

        asked = stale(ada_member.user).post("/dashboard/developers/keys/new/", self.FORM)

        assert asked["Location"] == "/dashboard/login/forgotten/"
