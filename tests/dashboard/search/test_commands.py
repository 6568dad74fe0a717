"""What the search offers beside objects, on its page and in the command palette."""

import pytest

from dashboard.tasks import index_search
from tests.dashboard.people import signed_in
from tests.developer_site.test_pages import Audit
from tests.transactions import captured_payment

pytestmark = pytest.mark.django_db

SEARCH = "/dashboard/search/"


def page_of(browser, text=""):
    return browser.get(SEARCH, {"q": text})


def names(page, kind):
    return [each.name for each in getattr(page.context["commands"], kind)]


@pytest.mark.parametrize(
    ("text", "acts", "places"),
    [
        ("create link", ["Create payment link"], []),
        ("LINK", ["Create payment link"], ["Payment links"]),
        ("send", ["New payout"], []),
        ("limits", [], ["Payout settings"]),
        ("settlement account", [], ["Settlement account"]),
        ("nothing like it", [], []),
        ("\x00", [], []),
    ],
)
def test_every_word_begins_a_word_of_the_name_or_another_for_it(browser, ada, text, acts, places):
    page = page_of(browser, text)

    if text.strip("\x00"):
        assert (names(page, "acts"), names(page, "places")) == (acts, places)
    assert page.status_code == 200


def test_without_a_text_all_are_listed_and_every_page_opens(browser, ada):
    page = page_of(browser)

    assert {"Create payment link", "New payout", "Invite member"} <= set(names(page, "acts"))
    commands = page.context["commands"]
    for each in (*commands.acts, *commands.places):
        assert browser.get(each.address).status_code == 200, each


def test_actions_need_their_permission(ada_member):
    ada_member.role = "viewer"
    ada_member.save()

    assert names(page_of(signed_in(ada_member.user)), "acts") == []


def test_the_only_payment_found_can_be_refunded(browser, ada, now):
    payment = captured_payment(business=ada.business, now=now, amount=250_000, reference="ORD-1")
    index_search()

    page = page_of(browser, "ORD-1")

    assert names(page, "acts") == ["Refund payment ORD-1"]
    assert "NGN 2,500.00 left" in page.content.decode()
    assert f'href="/dashboard/payments/{payment.pk}/refund/"' in page.content.decode()


def test_one_of_several_payments_is_not_offered_for_refund(browser, ada, now):
    for reference in ("ORD-1", "ORD-2"):
        captured_payment(business=ada.business, now=now, reference=reference)
    index_search()

    assert names(page_of(browser, "ORD-"), "acts") == []


class TestPalette:
    def listed(self, browser, text=""):
        return browser.get(SEARCH, {"q": text}, headers={"X-Palette": "true"}).content.decode()

    def test_lists_options_without_a_page_around_them(self, browser, ada, now):
        captured_payment(business=ada.business, now=now, reference="ORD-1")
        index_search()

        part = self.listed(browser, "ORD-1")

        assert "<html" not in part
        assert part.count('role="option"') == 3  # the payment, its refund, and all results
        assert f'href="{SEARCH}?q=ORD-1"' in part
        assert Audit(part).findings == []

    def test_says_what_to_enter_if_nothing_is_found(self, browser, ada):
        part = self.listed(browser, "<b>nothing")

        assert "No results for" in part
        assert "<b>nothing" not in part

    def test_is_opened_from_every_page(self, browser, ada):
        assert "data-palette=" in browser.get("/dashboard/").content.decode()
