"""The team: members are invited by email or link, given roles, and removed; one owner always remains."""

import re
from dataclasses import replace
from datetime import UTC, timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.core import mail
from django.test import Client
from django.utils import timezone
from freezegun import freeze_time

from merchants.models import AuditEntry, Business, Invitation, LimitSlot, Member, User
from merchants.people import team
from merchants.people.audit import Actor
from payments.models import PayoutControls
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import signed_in
from tests.developer_site.test_pages import Audit
from tests.factories import MemberFactory, UserFactory

pytestmark = pytest.mark.django_db

TEAM = "/dashboard/team/"
INVITE = "/dashboard/team/invite/"
JOIN = {"name": "Chidi <b>Eze</b>", "password": "correct horse battery"}


@pytest.fixture
def owner(ada_member):
    return signed_in(ada_member.user)


@pytest.fixture
def link(owner):
    """The path of the link mailed to Chidi, who is invited as a viewer."""
    invite(owner)
    return mailed_link()


def invite(owner, email="chidi@example.com", role="viewer"):
    page = owner.post(INVITE, {"email": email, "role": role}).content.decode()
    return re.search(r'data-secret="invitation">http://127.0.0.1:8000(\S+?)<', page).group(1)


def mailed_link():
    return re.search(r"http://127.0.0.1:8000(/dashboard/invitation/\S+)", mail.outbox[-1].body).group(1)


def joins(link):
    """Return whether a visitor without an account can join with a link."""
    Client().post(link, JOIN)
    return Member.objects.filter(user__email="chidi@example.com").exists()


def audited():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "target"))


class TestInvitation:
    def test_says_which_role_suits_customer_support(self, owner):
        assert "not change anything. Suits customer support." in owner.get(INVITE).content.decode()

    def test_is_mailed_and_shown_once(self, owner, link, settings):
        shown = invite(owner)
        page = owner.get(TEAM).content.decode()

        assert [message.to for message in mail.outbox] == [["chidi@example.com"]] * 2
        assert settings.PUBLIC_URL + mailed_link() in mail.outbox[-1].body
        assert shown not in page
        assert "chidi@example.com" in page

    def test_that_was_mailed_shows_no_second_link_at_first(self, owner, settings):
        page = owner.post(INVITE, {"email": "chidi@example.com", "role": "viewer"}).content.decode()
        assert "Role: Viewer" in page
        assert page.index("<summary>If the email doesn\u2019t arrive</summary>") < page.index(
            'data-secret="invitation"'
        )

        settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
        page = owner.post(INVITE, {"email": "bisi@example.com", "role": "viewer"}).content.decode()
        assert "<summary>" not in page.split('id="main"')[1]
        assert 'data-secret="invitation"' in page

    def test_ends_at_a_time_in_utc_wherever_the_business_is(self, owner, link):
        until = Invitation.objects.get().expires_at.astimezone(UTC)
        assert f"until {until:%-d %B %Y, %H:%M} UTC:" in mail.outbox[-1].body

    def test_is_stored_as_a_hash_only(self, link):
        assert link.split("/")[-2] not in str(
            list(Invitation.objects.values()) + list(AuditEntry.objects.values())
        )

    def test_creates_an_account_and_a_viewer_who_changes_nothing(self, link):
        visitor = Client()
        page = visitor.get(link).content.decode()

        answer = visitor.post(link, JOIN)

        member = Member.objects.get(user__email="chidi@example.com")
        assert "Ada Books" in page
        assert (answer["Location"], member.role, member.user.name) == ("/dashboard/", "viewer", JOIN["name"])
        assert visitor.get("/dashboard/").status_code == 200
        assert visitor.post(INVITE, {}).status_code == 403
        assert "<b>Eze" not in visitor.get(TEAM).content.decode()
        assert ("member.joined", "chidi@example.com") in audited()

    def test_works_once(self, link):
        Client().post(link, JOIN)

        assert "no longer valid" in Client().get(link).content.decode()
        assert "no longer valid" in Client().post(link, JOIN).content.decode()
        assert Member.objects.filter(user__email="chidi@example.com").count() == 1

    def test_ends_after_seven_days(self, link):
        with freeze_time(timezone.now() + timedelta(days=7, seconds=1)):
            page = Client().post(link, JOIN).content.decode()

        assert "no longer valid" in page
        assert not User.objects.filter(email="chidi@example.com").exists()

    def test_is_replaced_by_a_newer_one(self, owner, link):
        invite(owner, role="finance")
        newer = mailed_link()

        assert "no longer valid" in Client().get(link).content.decode()
        assert "Role: finance" in Client().get(newer).content.decode()

    def test_can_be_cancelled(self, owner, link):
        owner.post(f"/dashboard/team/invitations/{Invitation.objects.get().pk}/withdraw/")

        assert "no longer valid" in Client().get(link).content.decode()

    def test_requires_a_strong_password(self, link):
        page = Client().post(link, {"name": "Chidi", "password": "short"}).content.decode()

        assert "too short" in page
        assert not User.objects.filter(email="chidi@example.com").exists()

    def test_for_an_existing_account_requires_sign_in(self, link):
        user = UserFactory(email="chidi@example.com", password=PASSWORD)

        stranger = Client().post(link, JOIN).content.decode()
        answer = signed_in(user).post(link)

        assert "already has an account" in stranger
        assert user.check_password(PASSWORD)
        assert answer["Location"] == "/dashboard/"
        assert Member.objects.get(user=user).role == "viewer"

    def test_cannot_be_used_by_others(self, owner, link, bisi_member):
        page = signed_in(bisi_member.user).post(link).content.decode()

        assert "you're signed in as bisi@example.com" in page
        assert not Member.objects.filter(user__email="chidi@example.com").exists()

    def test_is_not_sent_to_members(self, owner):
        page = owner.post(INVITE, {"email": "ADA@example.com", "role": "viewer"}).content.decode()

        assert "is already a member" in page

    @pytest.mark.parametrize(
        "form", [{}, {"email": "x", "role": "viewer"}, {"email": "a@b.example", "role": "king"}]
    )
    def test_shows_an_error_message(self, owner, form):
        answer = owner.post(INVITE, form)

        assert answer.status_code == 200
        assert "field__error" in answer.content.decode()
        assert not Invitation.objects.exists()


class TestLinkThatTheInviterSees:
    def test_creates_no_account(self, owner):
        shown = invite(owner)

        answer = Client().post(shown, JOIN)

        assert "open the link in the email that was sent to this address" in answer.content.decode()
        assert not User.objects.filter(email="chidi@example.com").exists()

    def test_mails_the_link_that_proves_the_address(self, owner):
        visitor = Client()

        page = visitor.post(invite(owner), {"mail": "again"}).content.decode()

        assert "Email sent." in page
        assert mailed_link() not in page
        assert mail.outbox[-1].to == ["chidi@example.com"]
        assert joins(mailed_link())

    def test_is_mailed_at_most_three_times_a_day(self, owner):
        shown = invite(owner)

        answers = [Client().post(shown, {"mail": "again"}) for _ in range(4)]

        assert [answer.status_code for answer in answers] == [200] * 3 + [429]
        assert answers[-1]["Retry-After"]
        assert ["Resend email" in each.content.decode() for each in answers] == [True] * 3 + [False]
        assert len(mail.outbox) == 4

    def test_is_sufficient_for_a_signed_in_user(self, owner):
        shown = invite(owner)
        user = UserFactory(email="chidi@example.com", password=PASSWORD)

        assert signed_in(user).post(shown)["Location"] == "/dashboard/"
        assert Member.objects.get(user=user).role == "viewer"

    def test_does_not_reveal_whether_the_address_has_an_account(self, owner):
        UserFactory(email="bisi@example.com")
        pages = [
            Client().get(invite(owner, email)).content.decode()
            for email in ["bisi@example.com", "chidi@example.com"]
        ]

        assert (
            len(
                {
                    re.sub(r"bisi|chidi|value=\"\S+\"|invitation/\S+|invitation%2F\S+", "", page)
                    for page in pages
                }
            )
            == 1
        )

    @pytest.mark.parametrize("end", [".", ".0", "." + "0" * 64, ".é", ".x.y"])
    def test_cannot_be_converted_into_the_mailed_one(self, owner, end):
        shown = invite(owner)

        assert not joins(f"{shown.rstrip('/')}{end}/")

    def test_explains_that_a_server_without_mail_creates_no_accounts(self, owner, settings):
        settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
        shown = invite(owner)

        assert "send email" in Client().get(shown).content.decode()
        assert not joins(shown)

    def test_belongs_to_its_own_invitation(self, owner, link):
        """The proof of an address for one invitation is not valid for another."""
        proof = link.rstrip("/").rpartition(".")[2]
        shown = invite(owner, "bisi@example.com")

        Client().post(f"{shown.rstrip('/')}.{proof}/", JOIN)

        assert not User.objects.filter(email="bisi@example.com").exists()


class TestInviter:
    @pytest.fixture
    def other(self, ada):
        """Another owner, who stays."""
        member = MemberFactory(business=ada.business, user__email="bola@example.com", role="owner")
        return signed_in(member.user)

    @pytest.mark.parametrize(("address", "form"), [("remove/", {}), ("", {"role": "developer"})])
    def test_removal_or_demotion_ends_open_invitations(self, link, other, ada_member, address, form):
        other.post(f"/dashboard/team/{ada_member.pk}/{address}", form)

        assert "no longer valid" in Client().get(link).content.decode()
        assert not joins(link)
        assert Invitation.objects.filter(ended_at__isnull=True).count() == 0
        assert ("member.invitation_ended", "chidi@example.com") in audited()

    def test_keeps_the_invitations_of_others(self, owner, link, other, ada_member):
        invite(other, "dayo@example.com")

        other.post(f"/dashboard/team/{ada_member.pk}/remove/")

        assert [each.email for each in Invitation.objects.filter(ended_at__isnull=True)] == [
            "dayo@example.com"
        ]

    def test_end_of_invitations_is_in_activity(self, link, other, ada_member):
        other.post(f"/dashboard/team/{ada_member.pk}/remove/")

        page = other.get("/dashboard/activity/").content.decode()
        assert "Ended the invitation for chidi@example.com from ada@example.com" in page

    def test_must_still_be_allowed_to_invite_when_the_link_is_used(self, link, other, ada_member):
        """Applies however the inviter was removed; here, the row is deleted directly."""
        Member.objects.filter(pk=ada_member.pk).delete()

        assert not joins(link)

    @pytest.mark.parametrize("change", [{"is_active": False}, None])
    def test_with_a_closed_or_deleted_account_ends_invitations(self, link, other, ada_member, change):
        if change:
            User.objects.filter(pk=ada_member.user_id).update(**change)
        else:
            ada_member.user.delete()

        assert not joins(link)

    def test_closing_the_account_ends_open_invitations(self, link, other, ada_member):
        staff = signed_in(UserFactory(is_staff=True, is_superuser=True))

        staff.post(f"/admin/merchants/user/{ada_member.user_id}/change/", {"reason": "left"})
        User.objects.filter(pk=ada_member.user_id).update(is_active=True)

        assert not joins(link)
        assert ("member.invitation_ended", "chidi@example.com") in audited()

    def test_rights_are_checked_under_the_lock_when_inviting(self, ada, ada_member):
        Member.objects.filter(pk=ada_member.pk).update(role="viewer")

        with pytest.raises(team.MayNotInvite):
            team.invite(
                business=ada.business,
                email="chidi@example.com",
                role="owner",
                inviter=ada_member.user,
                actor=Actor(name="test"),
                now=timezone.now(),
            )


class TestQuota:
    def attempts(self, owner, emails):
        return [owner.post(INVITE, {"email": email, "role": "viewer"}).content.decode() for email in emails]

    def test_allows_five_invitations_per_address_and_day(self, owner):
        pages = self.attempts(owner, ["chidi@example.com", "CHIDI@example.com"] * 3)

        assert ["invitations to this address (5 a day)" in page for page in pages] == [False] * 5 + [True]
        assert len(mail.outbox) == 5

    def test_counts_all_spellings_of_a_domain_together(self, owner):
        spellings = [
            "site.example",
            "\u017fite.example",
            "\uff53ite.example",
            "\uff33ite.example",
            "SITE.example",
        ]

        pages = self.attempts(owner, [f"chidi@{domain}" for domain in [*spellings, "s\uff49te.example"]])

        assert ["invitations to this address (5 a day)" in page for page in pages] == [False] * 5 + [True]
        assert {each.to[0] for each in mail.outbox} == {"chidi@site.example"}

    def test_resets_the_next_day(self, owner):
        self.attempts(owner, ["chidi@example.com"] * 6)
        Invitation.objects.all().delete()
        LimitSlot.objects.update(expires_at=timezone.now())

        assert "Invitation for chidi@example.com" in self.attempts(owner, ["chidi@example.com"])[0]

    def test_allows_fifty_per_inviter(self, owner, monkeypatch):
        monkeypatch.setattr(team, "PER_INVITER", replace(team.PER_INVITER, slots=2))
        pages = self.attempts(owner, [f"a{number}@example.com" for number in range(3)])

        assert ["You have reached your limit of invitations (2 a day)" in page for page in pages] == [
            False,
            False,
            True,
        ]

    def test_allows_a_hundred_per_business(self, owner, ada, monkeypatch):
        monkeypatch.setattr(team, "PER_BUSINESS", replace(team.PER_BUSINESS, slots=2))
        self.attempts(owner, ["a1@example.com", "a2@example.com"])
        other = signed_in(MemberFactory(business=ada.business, role="owner").user)

        (page,) = self.attempts(other, ["a3@example.com"])

        assert "This business has reached its limit of invitations (2 a day)" in page
        assert len(mail.outbox) == 2

    def test_counts_mails_to_one_address_of_all_businesses(self, owner, bisi_member, monkeypatch):
        monkeypatch.setattr(team, "PER_ADDRESS", replace(team.PER_ADDRESS, slots=1))
        self.attempts(owner, ["chidi@example.com"])

        (page,) = self.attempts(signed_in(bisi_member.user), ["chidi@example.com"])

        assert "This address has reached its limit of invitations (1 a day)" in page


HOSTILE = [
    "Visit https://evil.example/login",
    "www.evil.example",
    "evil\u2024example and evil\uff0eexample and evil\u3002example",
    "Bank\r\nBcc: everyone@example.com\r\n\r\nPay here",
    "mailto:thief@evil.example",
    "a\u200bb\u202ec http:\\\\evil.example",
    "x" * 200,
]


class TestNamesInMails:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_create_no_links_and_no_headers(self, owner, ada, ada_member, name):
        Business.objects.filter(pk=ada.business_id).update(name=name)
        User.objects.filter(pk=ada_member.user_id).update(name=name)

        invite(owner)

        (message,) = mail.outbox
        text = message.subject + "\n" + message.body.replace(f"http://127.0.0.1:8000{mailed_link()}", "")
        headers = [header for header, _ in message.message().items()]
        assert not re.search(r"evil\S*example|https?:|www\.|mailto:", text)
        assert not re.search("[\u200b\u202e\u2024\uff0e\u3002\r]", text)
        assert "Bcc" not in headers
        assert message.recipients() == ["chidi@example.com"]
        assert message.body.startswith("ada@example.com has invited you to join ")
        assert "x" * 61 not in text

    def test_leave_ordinary_names_unchanged(self, owner, ada):
        Business.objects.filter(pk=ada.business_id).update(name="Ada & Sons (Lagos) Ltd.")

        invite(owner)

        assert mail.outbox[0].subject == "Join Ada & Sons (Lagos) Ltd. on Sluice"

    def test_neutralise_unusual_addresses_of_inviters(self, owner, ada_member):
        User.objects.filter(pk=ada_member.user_id).update(email='"see http://evil.example/x"@example.com')

        invite(owner)

        assert "evil.example" not in mail.outbox[0].body


class TestRole:
    def test_is_changed_and_audited_with_before_and_after(self, owner, ada):
        member = MemberFactory(business=ada.business, role="viewer")

        owner.post(f"/dashboard/team/{member.pk}/", {"role": "finance"})

        member.refresh_from_db()
        entry = AuditEntry.objects.latest("pk")
        assert member.role == "finance"
        assert (entry.action, entry.actor) == ("member.role_changed", "ada@example.com")
        assert (entry.before, entry.after) == ({"role": "viewer"}, {"role": "finance"})

    @pytest.mark.parametrize("address", ["", "remove/"])
    def test_of_the_last_owner_cannot_be_changed(self, owner, ada_member, address):
        MemberFactory(business=ada_member.business, role="finance")

        page = owner.post(f"/dashboard/team/{ada_member.pk}/{address}", {"role": "viewer"}, follow=True)

        ada_member.refresh_from_db()
        assert ada_member.role == "owner"
        assert "needs at least one owner" in page.content.decode()

    def test_of_an_owner_can_be_changed_if_there_is_another(self, owner, ada, ada_member):
        MemberFactory(business=ada.business, role="owner")

        owner.post(f"/dashboard/team/{ada_member.pk}/", {"role": "viewer"})

        assert owner.post(INVITE, {}).status_code == 403


class TestRemoval:
    def test_asks_first_who_loses_access(self, owner, ada):
        member = MemberFactory(business=ada.business, user__email="chidi@example.com", role="finance")
        address = f"/dashboard/team/{member.pk}/remove/"
        assert f'href="{address}"' in owner.get(f"/dashboard/team/{member.pk}/").content.decode()

        asked = owner.get(address).content.decode()

        assert "Remove <bdi>chidi@example.com</bdi>?" in asked
        assert "Keep member" in asked
        assert Member.objects.filter(pk=member.pk).exists()

    def test_ends_access_and_sessions(self, owner, ada):
        member = MemberFactory(
            business=ada.business, user__email="chidi@example.com", user__password=PASSWORD
        )
        theirs = Client()
        theirs.post("/dashboard/login/", {"email": "chidi@example.com", "password": PASSWORD})
        assert theirs.get("/dashboard/").status_code == 200

        owner.post(f"/dashboard/team/{member.pk}/remove/")

        assert theirs.get("/dashboard/").status_code == 302
        assert not UserSession.objects.filter(user=member.user).exists()
        assert ("member.removed", "chidi@example.com") in audited()


class TestPage:
    def test_explains_to_a_viewer_why_nothing_can_be_changed(self, owner, link):
        viewer = Client()
        viewer.post(link, JOIN)

        page = viewer.get(TEAM).content.decode()

        assert "Only owners may invite people or change roles" in page
        assert "Invite member" not in page
        assert Audit(page).findings == []


class TestApprovers:
    """Where all payouts need approval, two members remain who could approve them."""

    @pytest.fixture
    def finance(self, ada):
        PayoutControls.objects.create(business=ada.business, approval="always")
        return MemberFactory(business=ada.business, role="finance")

    @pytest.mark.parametrize("change", [("", {"role": "viewer"}), ("remove/", {})])
    def test_cannot_become_one(self, owner, finance, change):
        address, form = change

        page = owner.post(f"{TEAM}{finance.pk}/{address}", form, follow=True).content.decode()

        assert "All payouts need approval, and nobody else could approve them then." in page
        finance.refresh_from_db()
        assert finance.role == "finance"

    def test_may_be_replaced(self, owner, ada, finance):
        MemberFactory(business=ada.business, role="owner")

        owner.post(f"{TEAM}{finance.pk}/remove/", {})

        assert not Member.objects.filter(pk=finance.pk).exists()

    def test_do_not_keep_other_members(self, owner, ada, finance):
        viewer = MemberFactory(business=ada.business, role="viewer")

        owner.post(f"{TEAM}{viewer.pk}/remove/", {})

        assert not Member.objects.filter(pk=viewer.pk).exists()

    def test_are_needed_only_if_all_payouts_need_approval(self, owner, finance):
        PayoutControls.objects.update(approval="never")

        owner.post(f"{TEAM}{finance.pk}/remove/", {})

        assert not Member.objects.filter(pk=finance.pk).exists()
