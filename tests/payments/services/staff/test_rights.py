"""Rights of staff, groups, fees and connectors change by two people."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.utils import timezone

from ledger.models import Entry
from merchants.models import AuditEntry, User
from merchants.people.audit import Actor
from payments.models import Proposal, RailChoice, Tariff
from payments.services.staff import four_eyes
from payments.services.staff.actions import rights
from tests.dashboard.people import signed_in
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

RIGHTS = {"is_active": "on", "is_staff": "on", "is_superuser": "on", "reason": "New colleague"}


@pytest.fixture(autouse=True)
def _four_eyes(settings):
    settings.FOUR_EYES = True


def person(name, **rights):
    return UserFactory(email=f"{name}@example.com", **{"is_staff": True, "is_superuser": True} | rights)


def browser(user):
    return signed_in(user, client=Client())


@pytest.fixture
def first(db):
    return browser(person("first"))


@pytest.fixture
def second(db):
    return browser(person("second"))


@pytest.fixture
def newcomer(db):
    return person("newcomer", is_staff=False, is_superuser=False)


def change(client, row, **form):
    address = f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/"
    return client.post(address, form, follow=True).content.decode()


def confirm(client, proposal=None):
    proposal = proposal or Proposal.objects.get(state="open")
    return client.post(f"/admin/payments/proposal/{proposal.pk}/confirm/", follow=True).content.decode()


def permission(name):
    app, codename = name.split(".")
    return Permission.objects.get(content_type__app_label=app, codename=codename)


class TestUser:
    def test_gets_rights_once_another_superuser_confirms(self, first, second, newcomer):
        assert "awaits another person" in change(first, newcomer, **RIGHTS)
        newcomer.refresh_from_db()
        assert not newcomer.is_superuser
        shown = second.get(f"/admin/payments/proposal/{Proposal.objects.get().pk}/change/").content.decode()
        assert (
            "Newcomer@example.com: is staff changes from no to yes; is superuser changes from no to yes."
            in shown
        )

        assert "confirmed and performed" in confirm(second)

        newcomer.refresh_from_db()
        assert newcomer.is_superuser
        entry = AuditEntry.objects.get(action="user.changed")
        assert (entry.actor, entry.target) == ("second@example.com", "newcomer@example.com")
        assert entry.before == {"is_staff": False, "is_superuser": False}
        assert entry.after == {"is_staff": True, "is_superuser": True, "reason": "New colleague"}

    def test_of_the_proposer_cannot_confirm(self, first, second, ada, newcomer):
        """Propose, give a second account rights, confirm with it: the way past four eyes that was possible."""
        form = {
            "business": ada.business.pk,
            "currency": "NGN",
            "amount": "5.00",
            "note": "Mine",
            "cause": uuid4(),
        }
        first.post("/admin/ledger/entry/add/", form)
        top_up = Proposal.objects.get()

        change(first, newcomer, **RIGHTS)
        assert browser(newcomer).post(f"/admin/payments/proposal/{top_up.pk}/confirm/").status_code in {
            302,
            403,
        }
        confirm(second, Proposal.objects.get(action="change_user"))
        newcomer.refresh_from_db()
        assert newcomer.is_superuser
        assert "after it was proposed" in confirm(browser(newcomer), top_up)

        assert not Entry.objects.exists()

    @pytest.mark.parametrize("form", [
        {"is_staff": "on", "is_superuser": "on"},  # closed
        {"is_active": "on", "is_staff": "on"},  # no superuser any more
        {"is_active": "on", "is_superuser": "on"},
    ])  # fmt: skip
    def test_of_staff_does_not_lose_rights_by_one_person(self, first, second, form):
        """Alone, a person would be the only superuser, and could appoint anyone."""
        other = User.objects.get(email="second@example.com")

        change(first, other, **form, reason="x")

        held = User.objects.filter(pk=other.pk, is_active=True, is_staff=True, is_superuser=True)
        assert held.exists()
        assert Proposal.objects.get().state == "open"

    def test_without_rights_is_closed_by_one_person(self, first, second, newcomer):
        change(first, newcomer, reason="Asked for it")

        newcomer.refresh_from_db()
        assert not newcomer.is_active
        assert not Proposal.objects.exists()

    def test_is_appointed_by_the_only_superuser_alone(self, first, newcomer):
        shown = first.get(f"/admin/merchants/user/{newcomer.pk}/change/").content.decode()
        assert "You are the only superuser" in shown

        change(first, newcomer, **RIGHTS)

        newcomer.refresh_from_db()
        assert newcomer.is_superuser
        assert AuditEntry.objects.get(action="user.changed").actor == "first@example.com"
        third = person("third", is_staff=False, is_superuser=False)
        shown = first.get(f"/admin/merchants/user/{third.pk}/change/").content.decode()
        assert "Another superuser must confirm" in shown
        change(first, third, **RIGHTS)
        third.refresh_from_db()
        assert not third.is_superuser

    @pytest.mark.parametrize("lack", [{"is_active": False}, {"is_staff": False}, {"is_superuser": False}])
    def test_is_appointed_alone_if_nobody_else_could_confirm(self, first, newcomer, lack):
        person("other", **lack)

        change(first, newcomer, **RIGHTS)

        newcomer.refresh_from_db()
        assert newcomer.is_superuser
        assert not Proposal.objects.exists()

    def test_is_not_appointed_alone_by_a_person_who_is_no_superuser(self, newcomer):
        clerk = person("clerk", is_superuser=False)
        clerk.user_permissions.set([permission("merchants.change_user")])
        action = rights.user_change(newcomer, {"is_superuser": True}, reason="x")

        with pytest.raises(four_eyes.NotPermitted):
            four_eyes.submit(action, user=clerk, actor=Actor(name=clerk.email), now=timezone.now())

    @pytest.mark.parametrize("lack", [{"is_active": False}, {"is_staff": False}, {"is_superuser": False}])
    def test_is_not_confirmed_by_a_person_who_lacked_the_right_when_it_was_proposed(
        self, first, second, newcomer, lack
    ):
        """Having the permission alone isn't enough: only active superusers among the staff confirm."""
        other = person("other", **lack)
        other.user_permissions.set(Permission.objects.all())
        change(first, newcomer, **RIGHTS)
        User.objects.filter(pk=other.pk).update(is_active=True, is_staff=True, is_superuser=True)

        assert "after it was proposed" in confirm(browser(User.objects.get(pk=other.pk)))

    def test_with_nothing_but_a_group_takes_two_people(self, first, second, newcomer):
        newcomer.groups.add(Group.objects.create(name="Finance"))

        change(first, newcomer, reason="Asked for it")

        newcomer.refresh_from_db()
        assert newcomer.is_active
        assert Proposal.objects.get().action == "change_user"

    def test_does_not_get_a_group_that_was_renamed(self, first, second, newcomer):
        group = Group.objects.create(name="Finance")
        change(first, newcomer, is_active="on", is_staff="on", groups=[group.pk], reason="New colleague")
        Group.objects.update(name="Auditors")

        assert "was renamed in the meantime" in confirm(second)

        newcomer.refresh_from_db()
        assert not newcomer.is_staff

    def test_is_confirmed_by_superusers_only(self, first, second, newcomer):
        clerk = person("clerk", is_superuser=False)
        clerk.user_permissions.set(Permission.objects.all())
        change(first, newcomer, **RIGHTS)
        address = f"/admin/payments/proposal/{Proposal.objects.get().pk}/confirm/"

        assert browser(clerk).post(address).status_code == 403

    def test_that_changed_since_is_not_changed(self, first, second, newcomer):
        change(first, newcomer, **RIGHTS)
        User.objects.filter(pk=newcomer.pk).update(is_active=False)

        assert "is active was yes, and is no now" in confirm(second)

        newcomer.refresh_from_db()
        assert not newcomer.is_superuser

    def test_changes_at_once_without_four_eyes(self, first, second, newcomer, settings):
        settings.FOUR_EYES = False

        change(first, newcomer, **RIGHTS)

        newcomer.refresh_from_db()
        assert newcomer.is_superuser


class TestGroup:
    def test_gets_permissions_once_another_superuser_confirms(self, first, second):
        group = Group.objects.create(name="Finance")
        given = permission("ledger.add_entry")

        change(first, group, name="Finance", permissions=[given.pk], reason="Top-ups")
        assert not group.permissions.exists()
        confirm(second)

        assert list(group.permissions.all()) == [given]
        assert AuditEntry.objects.get(action="group.changed").after == {
            "permissions": ["ledger.add_entry"],
            "reason": "Top-ups",
        }

    @pytest.mark.parametrize("changed", ["members", "permissions"])
    def test_that_changed_since_is_not_changed(self, first, second, newcomer, changed):
        """A group with other members gives its permissions to other people."""
        group = Group.objects.create(name="Finance")
        change(first, group, name="Finance", permissions=[permission("ledger.add_entry").pk], reason="x")
        if changed == "members":
            newcomer.groups.add(group)
        else:
            group.permissions.add(permission("ledger.view_entry"))

        assert f"{changed} was" in confirm(second)

        assert permission("ledger.add_entry") not in group.permissions.all()

    def test_is_made_once_another_superuser_confirms(self, first, second):
        form = {"name": "Support", "permissions": [permission("ledger.view_entry").pk], "reason": "New team"}
        first.post("/admin/auth/group/add/", form)
        assert not Group.objects.exists()

        confirm(second)

        assert Group.objects.get().name == "Support"


class TestFee:
    FORM = {
        "flow": "card", "currency": "NGN", "is_offered": "on", "basis_points": 0, "fixed": "0", "fixed_waived_below": "0",
        "tax_basis_points": 0,
        "reason": "A friend",
    }  # fmt: skip

    def test_is_agreed_once_another_person_confirms(self, first, second, ada):
        first.post("/admin/payments/tariff/add/", self.FORM | {"business": ada.business_id})
        assert not Tariff.objects.exists()

        assert "confirmed and performed" in confirm(second)

        tariff = Tariff.objects.get()
        assert (tariff.business, tariff.basis_points, tariff.agreed_by) == (
            ada.business,
            0,
            "second@example.com",
        )

    def test_takes_two_people_even_while_there_is_one_superuser(self, first, ada):
        first.post("/admin/payments/tariff/add/", self.FORM | {"business": ada.business_id})

        assert not Tariff.objects.exists()
        assert Proposal.objects.get().confirmers == [User.objects.get(email="first@example.com").pk]

    @pytest.mark.parametrize("terms", [{"fixed": "5.00"}, {}])
    def test_that_was_agreed_since_is_not_agreed(self, first, second, ada, settings, terms):
        """Also if the same terms were agreed, because they have been since."""
        form = self.FORM | {"business": ada.business_id}
        first.post("/admin/payments/tariff/add/", form)
        settings.FOUR_EYES = False
        first.post("/admin/payments/tariff/add/", form | terms)
        settings.FOUR_EYES = True

        assert "agreements was 0, and is 1 now" in confirm(second)

        assert Tariff.objects.count() == 1

    def test_default_has_no_business(self, first, second):
        first.post("/admin/payments/tariff/add/", self.FORM | {"business": ""})

        assert "confirmed and performed" in confirm(second)
        assert Tariff.objects.get().business is None


class TestConnectors:
    def test_are_chosen_once_another_person_confirms(self, first, second, ada):
        chosen = "sandbox"
        form = {"business": ada.business_id, "card_acquirer": "", "payout_bank": chosen, "reason": "New bank"}
        first.post("/admin/payments/railchoice/add/", form)
        assert not RailChoice.objects.exists()

        assert "confirmed and performed" in confirm(second)
        assert RailChoice.objects.get().payout_bank == chosen
        change(first, RailChoice.objects.get(), card_acquirer="", payout_bank="", reason="Back")
        assert RailChoice.objects.get().payout_bank == chosen

    def test_that_changed_since_are_not_chosen(self, first, second, ada):
        form = {"business": ada.business_id, "card_acquirer": "sandbox", "payout_bank": "", "reason": "x"}
        first.post("/admin/payments/railchoice/add/", form)
        RailChoice.objects.create(business=ada.business, payout_bank="sandbox")

        assert "payout bank was none, and is sandbox now" in confirm(second)

        assert RailChoice.objects.get().card_acquirer == ""


def test_pages_of_all_kinds_of_proposals_open(first, second, newcomer, ada):
    change(first, newcomer, **RIGHTS)
    first.post("/admin/payments/tariff/add/", TestFee.FORM | {"business": ada.business_id})

    shown = second.get("/admin/payments/proposal/").content.decode()

    assert "Change the rights of a user" in shown
    for proposal in Proposal.objects.all():
        page = second.get(f"/admin/payments/proposal/{proposal.pk}/change/")
        assert "Confirm proposal" in page.content.decode()
        chosen = {"action": "choose", "_selected_action": [str(proposal.pk)]}
        assert (
            "Confirm it on its own page."
            in second.post("/admin/payments/proposal/", chosen, follow=True).content.decode()
        )
