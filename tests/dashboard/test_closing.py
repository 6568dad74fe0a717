"""Owners request to close their business, withdraw that, and export everything before."""

import pytest

from merchants.models import AuditEntry, Business
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory, UserFactory

pytestmark = pytest.mark.django_db

PAGE = "/dashboard/settings/close/"


def requested_at(business):
    return Business.objects.get(pk=business.pk).closing_requested_at


class TestRequest:
    def test_changes_nothing_but_asks_staff(self, browser, ada, mailoutbox):
        answer = browser.post(PAGE, follow=True)

        business = Business.objects.get(pk=ada.business_id)
        assert business.is_active
        assert business.closing_requested_at is not None
        assert "Withdraw request" in answer.content.decode()
        assert AuditEntry.objects.filter(action="business.closing_requested").count() == 1
        (mail,) = mailoutbox
        assert "ada@example.com requested to close Ada Books" in mail.body

    def test_is_made_once(self, browser, ada, mailoutbox):
        browser.post(PAGE)
        first = requested_at(ada.business)

        browser.post(PAGE)

        assert requested_at(ada.business) == first
        assert len(mailoutbox) == 1

    def test_is_withdrawn_by_an_owner(self, browser, ada):
        browser.post(PAGE)

        browser.post(PAGE, {"withdraw": "1"})

        assert requested_at(ada.business) is None
        assert AuditEntry.objects.filter(action="business.closing_withdrawn").exists()

    def test_is_for_owners_only(self, ada):
        developer = signed_in(MemberFactory(business=ada.business, role="developer").user)

        assert developer.post(PAGE).status_code == 403
        assert "Close business" not in developer.get("/dashboard/settings/").content.decode()

    def test_shows_staff_what_to_decide(self, browser, ada):
        staff = signed_in(UserFactory(is_staff=True, is_superuser=True))
        browser.post(PAGE)

        listed = staff.get("/admin/merchants/business/?closing=requested").content.decode()

        assert "Businesses whose owner asks to close them" in staff.get("/admin/").content.decode()
        assert "Ada Books" in listed
        assert (
            "An owner asked to close it"
            in staff.get(f"/admin/merchants/business/{ada.business_id}/change/").content.decode()
        )

    def test_ends_when_staff_close_the_business(self, browser, ada):
        staff = signed_in(UserFactory(is_staff=True, is_superuser=True))
        browser.post(PAGE)

        staff.post(f"/admin/merchants/business/{ada.business_id}/close/", {"reason": "Asked by its owner"})

        business = Business.objects.get(pk=ada.business_id)
        assert (business.is_active, business.closing_requested_at) == (False, None)


def test_every_export_of_the_page_can_be_downloaded(browser, ada):
    exports = browser.get(PAGE).context["exports"]

    for _, csv, excel in exports:
        assert browser.get(csv).status_code == 200
        assert excel == csv.replace(".csv", ".xlsx")
