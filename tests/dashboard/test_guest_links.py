"""Guest links: a guest reads the statements of some months, and nothing else, until the link ends."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from freezegun import freeze_time

from dashboard.models import GuestLink
from dashboard.statements import guest_views
from dashboard.statements.months import Month
from kit.hashed_tokens import hash_of
from merchants.api import rate_limits
from merchants.models import AuditEntry, Member
from merchants.people.roles import Role
from tests.dashboard.guest_links import guest_link_of
from tests.dashboard.people import signed_in
from tests.dashboard.test_exports import csv_rows, xlsx_rows
from tests.factories import MemberFactory
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db

LINKS = "/dashboard/balance/statements/links/"


@pytest.fixture
def month(ada, now):
    return Month.of(now.astimezone(ada.business.zone).date())


@pytest.fixture
def money(ada, month):
    """A top-up in each of three months."""
    for ago, each in enumerate((month.previous.previous, month.previous, month)):
        at = each.begins(ada.business.zone) + timedelta(minutes=1)
        fill_wallet(ada.business, 10**ago * 100, at=at, reason=f"Float of {each.name}")


@pytest.fixture
def guest():
    """A browser without a session."""
    return Client()


@pytest.fixture
def linked(ada, ada_member, money):
    """A guest link for the current month, and its token."""
    return guest_link_of(ada_member.user, ada.business)


def form(month, **changes):
    return {"name": "Auditors", "first": str(month), "last": str(month), "days": "30"} | changes


def shown_link(answer):
    found = re.search(r'data-secret="guest-link">([^<]+)<', answer.content.decode())
    return found[1].partition("/statement/")[2].rstrip("/") if found else None


class TestMaking:
    @pytest.mark.parametrize("role", [Role.OWNER, Role.FINANCE])
    def test_shows_the_link_once_and_stores_its_hash(self, ada, money, month, guest, role):
        client = signed_in(MemberFactory(business=ada.business, role=role).user)

        answer = client.post(f"{LINKS}new/", form(month))

        token = shown_link(answer)
        link = GuestLink.objects.get()
        assert link.token_hash == hash_of(token)
        assert link.expires_at - link.created_at == timedelta(days=30)
        assert guest.get(f"/statement/{token}/").status_code == 200
        assert token not in client.get(LINKS).content.decode()

    def test_is_refused_for_other_roles(self, ada, money, month):
        for role in (Role.DEVELOPER, Role.VIEWER):
            client = signed_in(MemberFactory(business=ada.business, role=role).user)

            assert client.post(f"{LINKS}new/", form(month)).status_code == 403
        assert not GuestLink.objects.exists()

    def test_refuses_other_lifetimes_and_months(self, browser, money, month, subtests):
        for changes in (
            {"days": "0"},
            {"days": "91"},
            {"name": ""},
            {"first": str(month.next)},
            {"first": str(month), "last": str(month.previous)},
            {"last": "2001-01"},
        ):
            with subtests.test(changes=changes):
                assert browser.post(f"{LINKS}new/", form(month, **changes)).context["form"].errors
        assert not GuestLink.objects.exists()

    def test_is_in_the_activity(self, browser, money, month):
        browser.post(f"{LINKS}new/", form(month))

        text = browser.get("/dashboard/activity/").content.decode()
        assert (
            f"Created the guest link “Auditors” for the statements of {month} to {month}, for 30 days" in text
        )


class TestPage:
    def test_shows_the_statement_without_the_pages_of_members(self, guest, ada_member, ada, money, month):
        _, token = guest_link_of(ada_member.user, ada.business)

        answer = guest.get(f"/statement/{token}/")

        text = answer.content.decode()
        assert answer.context["month"] == month
        assert ada.business.name in text
        assert "Closing balance" in text
        assert "/dashboard/" not in text
        assert not answer.cookies

    def test_is_private(self, guest, linked, month, subtests):
        _, token = linked

        for address in (
            f"/statement/{token}/",
            f"/statement/{token}/{month}/export.csv",
            "/statement/unknown/",
        ):
            with subtests.test(address=address):
                headers = guest.get(address).headers

                assert headers["X-Robots-Tag"] == "noindex, nofollow"
                assert "no-store" in headers["Cache-Control"]
                assert headers["Referrer-Policy"] == "no-referrer"

    def test_shows_only_its_months(self, guest, ada_member, ada, money, month):
        months = (month.previous, month.previous)
        _, token = guest_link_of(ada_member.user, ada.business, months=months)

        assert guest.get(f"/statement/{token}/").context["months"] == [month.previous]
        for other in (month, month.previous.previous, month.next):
            assert guest.get(f"/statement/{token}/{other}/").status_code == 404
            assert guest.get(f"/statement/{token}/{other}/export.csv").status_code == 404

    def test_shows_each_of_several_months(self, guest, ada_member, ada, money, month):
        months = (month.previous.previous, month)
        _, token = guest_link_of(ada_member.user, ada.business, months=months)

        first = guest.get(f"/statement/{token}/")

        assert first.context["month"] == month.previous  # the latest that is over
        for each in (month, month.previous, month.previous.previous):
            address = f"/statement/{token}/{each}/"
            assert f'href="{address}"' in first.content.decode()
            assert guest.get(address).context["month"] == each

    def test_has_the_files(self, guest, ada_member, ada, money, month):
        _, token = guest_link_of(ada_member.user, ada.business)

        _, rows = csv_rows(guest.get(f"/statement/{token}/{month}/export.csv"))
        excel = xlsx_rows(guest.get(f"/statement/{token}/{month}/export.xlsx"))

        assert len(rows) == 3
        assert len(excel) == 4
        assert f"Float of {month.name}" in rows[1]

    def test_is_only_read(self, guest, ada_member, ada, money):
        _, token = guest_link_of(ada_member.user, ada.business)

        assert guest.post(f"/statement/{token}/").status_code == 405

    def test_counts_when_it_was_opened(self, guest, browser, linked, now):
        link, token = linked

        assert "Not opened" in browser.get(LINKS).content.decode()
        guest.get(f"/statement/{token}/")
        guest.get(f"/statement/{token}/")

        link.refresh_from_db()
        assert link.times_opened == 2
        assert link.opened_at >= now
        assert "2 times" in browser.get(LINKS).content.decode()
        opened = AuditEntry.objects.filter(action="guest_link.opened")
        assert [(each.actor, each.target, each.address) for each in opened] == [
            ("Guest", "Auditors", "127.0.0.1")
        ]


class TestEnding:
    def gone(self, guest, token, text):
        for address in (f"/statement/{token}/", f"/statement/{token}/{Month(2026, 1)}/export.csv"):
            answer = guest.get(address)
            assert answer.status_code == 410
            assert text in answer.content.decode()
            assert "Closing balance" not in answer.content.decode()

    def test_of_a_revoked_link(self, guest, browser, ada_member, ada, money):
        link, token = guest_link_of(ada_member.user, ada.business)

        browser.post(f"{LINKS}{link.pk}/revoke/")
        browser.post(f"{LINKS}{link.pk}/revoke/")

        self.gone(guest, token, "This link was revoked")
        assert AuditEntry.objects.filter(action="guest_link.revoked").count() == 1
        assert "Revoked" in browser.get(LINKS).content.decode()

    def test_of_an_expired_link(self, guest, ada_member, ada, money, now):
        link, token = guest_link_of(ada_member.user, ada.business, days=1)

        with freeze_time(now + timedelta(hours=23)):
            assert guest.get(f"/statement/{token}/").status_code == 200
        GuestLink.objects.filter(pk=link.pk).update(
            created_at=now - timedelta(days=1), expires_at=now - timedelta(seconds=1)
        )
        self.gone(guest, token, "This link has expired")

    @pytest.mark.parametrize("loses", ["role", "membership", "account"])
    def test_with_the_rights_of_its_maker(self, guest, ada, ada_member, money, loses):
        maker = MemberFactory(business=ada.business, role=Role.FINANCE)
        _, token = guest_link_of(maker.user, ada.business)

        if loses == "role":
            Member.objects.filter(pk=maker.pk).update(role=Role.VIEWER)
        elif loses == "membership":
            maker.delete()
        else:
            maker.user.is_active = False
            maker.user.save()

        self.gone(guest, token, "This link has ended")

    def test_with_its_business(self, guest, ada, ada_member, money):
        _, token = guest_link_of(ada_member.user, ada.business)
        ada.business.is_active = False
        ada.business.save()

        self.gone(guest, token, "This link has ended")

    def test_of_an_unknown_link(self, guest, ada, money):
        assert guest.get("/statement/nonsense/").status_code == 404

    def test_of_another_business_is_404(self, other_browser, ada, ada_member, money):
        link, _ = guest_link_of(ada_member.user, ada.business)

        assert other_browser.post(f"{LINKS}{link.pk}/revoke/").status_code == 404
        assert "Auditors" not in other_browser.get(LINKS).content.decode()


class TestLimits:
    def test_of_pages_per_address(self, guest, ada, ada_member, money, limit_clock):
        _, token = guest_link_of(ada_member.user, ada.business)
        for _ in range(guest_views.VIEWS):
            guest.get(f"/statement/{token}/")

        refused = guest.get(f"/statement/{token}/")

        assert refused.status_code == 429
        assert refused.headers["Retry-After"] == "60"

    def test_of_wrong_links_per_address(self, guest, ada, limit_clock):
        for _ in range(guest_views.UNKNOWN):
            assert guest.get("/statement/nonsense/").status_code == 404

        assert guest.get("/statement/nonsense/").status_code == 429

    def test_of_files_per_link(self, guest, linked, month, limit_clock):
        link, token = linked
        _, other = guest_link_of(link.made_by, link.business)
        for _ in range(rate_limits.EXPORTS):
            assert guest.get(f"/statement/{token}/{month}/export.csv").status_code == 200

        assert guest.get(f"/statement/{token}/{month}/export.csv").status_code == 429
        assert guest.get(f"/statement/{other}/{month}/export.csv").status_code == 200
