"""Missing and forbidden pages keep the dashboard's navigation; pages with errors say so in their title."""

import re

import pytest

from tests.dashboard.people import signed_in
from tests.developer_site.test_pages import Audit
from tests.factories import MemberFactory
from tests.unapplied import mismatched_money

pytestmark = pytest.mark.django_db

MISSING = "/dashboard/payments/ORD-1048/"


def title_of(answer):
    text = answer.content.decode()
    assert Audit(text).findings == []
    return text.partition("<title>")[2].partition("</title>")[0]


class TestErrorPages:
    def test_of_a_missing_page_keeps_navigation_and_searches(self, browser, ada):
        answer = browser.get(MISSING)

        assert answer.status_code == 404
        assert title_of(answer) == "Page not found · Ada Books"
        page = answer.content.decode()
        assert 'href="/dashboard/payments/"' in page
        assert 'value="ORD-1048"' in page
        assert "no-store" in answer["Cache-Control"]

    def test_of_a_missing_object_keeps_navigation(self, browser):
        answer = browser.get("/dashboard/payments/00000000-0000-0000-0000-000000000001/")

        assert answer.status_code == 404
        assert 'aria-label="Dashboard"' in answer.content.decode()

    def test_of_a_forbidden_page_says_who_may(self, ada):
        viewer = signed_in(MemberFactory(business=ada.business, role="viewer").user)

        answer = viewer.get("/dashboard/payouts/new/")

        assert answer.status_code == 403
        page = answer.content.decode()
        assert "Only owners and finance may make payouts." in page
        assert 'aria-label="Dashboard"' in page

    def test_for_visitors_names_no_business(self, client, ada):
        answer = client.get(MISSING)

        assert answer.status_code == 404
        assert "Ada Books" not in answer.content.decode()

    def test_masks_card_numbers_of_the_address(self, browser):
        assert "4084084084084081" not in browser.get("/dashboard/payments/4084084084084081/").content.decode()


class TestTitles:
    def test_begin_with_error_if_a_form_has_one(self, browser):
        address = "/dashboard/payouts/new/"

        assert title_of(browser.post(address, {"step": "review"})).startswith("Error: New payout")
        assert title_of(browser.get(address)).startswith("New payout")


class TestFields:
    def test_have_ids_of_their_own_form(self, browser, ada, now):
        money = mismatched_money(business=ada.business, now=now)

        page = browser.get(f"/dashboard/virtual-accounts/unapplied/{money.pk}/").content.decode()

        ids = re.findall(r' id="([^"]+)"', page)
        assert len(ids) == len(set(ids))
        for described in re.findall(r'aria-describedby="([^"]+)"', page):
            assert set(described.split()) <= set(ids)

    def test_with_an_error_keep_their_hint(self, browser, ada, now):
        money = mismatched_money(business=ada.business, now=now)

        answer = browser.post(
            f"/dashboard/virtual-accounts/unapplied/{money.pk}/", {"decision": "credit", "reason": ""}
        )

        page = answer.content.decode()
        assert 'aria-invalid="true" aria-describedby="credit_reason-error credit_reason-hint"' in page
        assert 'id="credit_reason-error"' in page
