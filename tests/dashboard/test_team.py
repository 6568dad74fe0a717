"""The team: invited by mail or by hand, given roles, removed; never without an owner."""

import re
from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.core import mail
from django.test import Client
from django.utils import timezone
from freezegun import freeze_time

from merchants.models import AuditEntry, Invitation, Member, User
from tests.config.test_pages import Audit
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import signed_in
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
    """The path of a link that invites Chidi as a viewer."""
    return invite(owner)


def invite(owner, email="chidi@example.com", role="viewer"):
    page = owner.post(INVITE, {"email": email, "role": role}).content.decode()
    return re.search(r'data-secret="invitation">http://127.0.0.1:8000(\S+?)<', page).group(1)


def told():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "target"))


class TestInvitation:
    def test_is_mailed_and_shown_once(self, owner, link, settings):
        (message,) = mail.outbox

        assert message.to == ["chidi@example.com"]
        assert settings.PUBLIC_URL + link in message.body
        assert link not in owner.get(TEAM).content.decode()
        assert "chidi@example.com" in owner.get(TEAM).content.decode()

    def test_is_stored_as_a_hash_only(self, link):
        assert link.split("/")[-2] not in str(
            list(Invitation.objects.values()) + list(AuditEntry.objects.values())
        )

    def test_makes_an_account_and_a_member_who_sees_and_changes_nothing(self, link):
        visitor = Client()
        page = visitor.get(link).content.decode()

        answer = visitor.post(link, JOIN)

        member = Member.objects.get(user__email="chidi@example.com")
        assert "Ada Books" in page
        assert (answer["Location"], member.role, member.user.name) == ("/dashboard/", "viewer", JOIN["name"])
        assert visitor.get("/dashboard/").status_code == 200
        assert visitor.post(INVITE, {}).status_code == 403
        assert "<b>Eze" not in visitor.get(TEAM).content.decode()
        assert ("member.joined", "chidi@example.com") in told()

    def test_works_once(self, link):
        Client().post(link, JOIN)

        assert "has ended" in Client().get(link).content.decode()
        assert "has ended" in Client().post(link, JOIN).content.decode()
        assert Member.objects.filter(user__email="chidi@example.com").count() == 1

    def test_ends_after_seven_days(self, link):
        with freeze_time(timezone.now() + timedelta(days=7, seconds=1)):
            page = Client().post(link, JOIN).content.decode()

        assert "has ended" in page
        assert not User.objects.filter(email="chidi@example.com").exists()

    def test_is_replaced_by_a_newer_one(self, owner, link):
        newer = invite(owner, role="finance")

        assert "has ended" in Client().get(link).content.decode()
        assert "as finance" in Client().get(newer).content.decode()

    def test_is_withdrawn(self, owner, link):
        owner.post(f"/dashboard/team/invitations/{Invitation.objects.get().pk}/withdraw/")

        assert "has ended" in Client().get(link).content.decode()

    def test_asks_for_a_good_password(self, link):
        page = Client().post(link, {"name": "Chidi", "password": "short"}).content.decode()

        assert "too short" in page
        assert not User.objects.filter(email="chidi@example.com").exists()

    def test_of_somebody_with_an_account_wants_them_signed_in(self, link):
        user = UserFactory(email="chidi@example.com", password=PASSWORD)

        stranger = Client().post(link, JOIN).content.decode()
        answer = signed_in(user).post(link)

        assert "has an account here" in stranger
        assert user.check_password(PASSWORD)
        assert answer["Location"] == "/dashboard/"
        assert Member.objects.get(user=user).role == "viewer"

    def test_is_not_for_others(self, owner, link, bisi_member):
        page = signed_in(bisi_member.user).post(link).content.decode()

        assert "you are signed in as bisi@example.com" in page
        assert not Member.objects.filter(user__email="chidi@example.com").exists()

    def test_goes_to_nobody_who_belongs_already(self, owner):
        page = owner.post(INVITE, {"email": "ADA@example.com", "role": "viewer"}).content.decode()

        assert "belongs to the business already" in page

    @pytest.mark.parametrize(
        "form", [{}, {"email": "x", "role": "viewer"}, {"email": "a@b.example", "role": "king"}]
    )
    def test_is_refused_in_a_sentence(self, owner, form):
        answer = owner.post(INVITE, form)

        assert answer.status_code == 200
        assert "field__error" in answer.content.decode()
        assert not Invitation.objects.exists()


class TestRole:
    def test_is_changed_and_told_with_before_and_after(self, owner, ada):
        member = MemberFactory(business=ada.business, role="viewer")

        owner.post(f"/dashboard/team/{member.pk}/", {"role": "finance"})

        member.refresh_from_db()
        entry = AuditEntry.objects.latest("pk")
        assert member.role == "finance"
        assert (entry.action, entry.actor) == ("member.role_changed", "ada@example.com")
        assert (entry.before, entry.after) == ({"role": "viewer"}, {"role": "finance"})

    @pytest.mark.parametrize("address", ["", "remove/"])
    def test_of_the_last_owner_stays(self, owner, ada_member, address):
        MemberFactory(business=ada_member.business, role="finance")

        page = owner.post(f"/dashboard/team/{ada_member.pk}/{address}", {"role": "viewer"}, follow=True)

        ada_member.refresh_from_db()
        assert ada_member.role == "owner"
        assert "keeps at least one owner" in page.content.decode()

    def test_of_an_owner_changes_where_there_is_another(self, owner, ada, ada_member):
        MemberFactory(business=ada.business, role="owner")

        owner.post(f"/dashboard/team/{ada_member.pk}/", {"role": "viewer"})

        assert owner.post(INVITE, {}).status_code == 403


class TestRemoval:
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
        assert ("member.removed", "chidi@example.com") in told()


class TestPage:
    def test_tells_a_viewer_why_nothing_can_be_changed(self, owner, link):
        viewer = Client()
        viewer.post(link, JOIN)

        page = viewer.get(TEAM).content.decode()

        assert "Only owners may invite people or change roles" in page
        assert "Invite somebody" not in page
        assert Audit(page).findings == []
