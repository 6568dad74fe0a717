"""The payer's 3-D Secure page in a real browser, from the merchant's API call to the return URL."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.chromium import visit

pytestmark = pytest.mark.e2e


@pytest.fixture
def start(service, shop):
    """Start a payment with the challenge card over the signed API; return the response."""

    def start_payment(path="/back?cart=7#top", **changes):
        source = orders.card_source(pan=orders.CHALLENGED_CARD)
        order = orders.card_payment(source=source, redirect_url=shop.origin + path, **changes)
        answer = service.client.post("/api/payments", order)
        assert answer.status_code == 201
        return answer.json()

    return start_payment


def enter(page, code):
    page.get_by_label("One-time code").fill(code)
    page.get_by_role("button", name="Approve").click()


def status_of(service, payment):
    return service.client.get(f"/api/payments/{payment['reference']}").json()["status"]


class TestPayer:
    def test_approves_after_a_typo_and_returns_to_the_shop(self, service, shop, start, seen):
        payment, page = start(), seen.page

        page.goto(payment["redirect_link"])
        expect(page.get_by_role("heading", level=1)).to_have_text("Confirm your payment")
        expect(page.get_by_label("One-time code")).to_be_focused()
        enter(page, "000000")
        expect(page.get_by_role("alert")).to_contain_text("You have 2 attempts left")
        expect(page.get_by_label("One-time code")).to_have_accessible_description(
            "Incorrect code. You have 2 attempts left. Your bank sent it to you. It expires in 15 minutes."
        )
        enter(page, "123456")

        expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
        arrived = urlsplit(page.url)
        assert f"{arrived.scheme}://{arrived.netloc}" == shop.origin
        assert arrived.fragment == "top"
        assert parse_qs(arrived.query) == {
            "cart": ["7"],
            "reference": [payment["reference"]],
            "id": [payment["id"]],
            "status": ["success"],
        }
        assert status_of(service, payment) == "success"
        assert seen.complaints == []
        assert seen.origins == {service.base_url, shop.origin}

    def test_declines_without_a_code(self, service, shop, start, seen):
        payment, page = start(), seen.page

        page.goto(payment["redirect_link"])
        page.get_by_role("button", name="Decline").click()

        expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
        assert "status=failed" in page.url
        assert status_of(service, payment) == "failed"
        assert seen.complaints == []

    def test_cannot_submit_an_empty_code(self, service, start, seen):
        payment, page = start(), seen.page

        page.goto(payment["redirect_link"])
        page.get_by_role("button", name="Approve").click()

        assert page.url == payment["redirect_link"]
        assert status_of(service, payment) == "pending"
        assert page.get_by_role("alert").count() == 0

    def test_has_no_horizontal_scrolling(self, service, start, seen):
        page = seen.page

        page.goto(start(amount=10**12)["redirect_link"])

        main = page.locator("main").bounding_box()
        amount = page.locator(".order__sum").bounding_box()
        assert amount["x"] + amount["width"] <= main["x"] + main["width"] <= page.viewport_size["width"]


class TestShop:
    def test_may_redirect_the_payer_to_another_origin(self, service, shop, start, browser):
        with visit(browser) as seen:
            seen.page.goto(start(path="/moved")["redirect_link"])
            enter(seen.page, "123456")

            expect(seen.page.get_by_role("heading", level=1)).to_have_text("Thank you")
            assert seen.page.url.endswith("/home#") or seen.page.url.endswith("/home")
            assert seen.complaints == []

    def test_is_left_by_going_back(self, service, shop, start, seen):
        seen.page.goto(start(path="/moved")["redirect_link"])
        enter(seen.page, "000000")
        enter(seen.page, "123456")
        expect(seen.page.get_by_role("heading", level=1)).to_have_text("Thank you")

        for _ in range(2):  # the page with the wrong code, and the page before
            seen.page.go_back()
            expect(seen.page.get_by_role("heading", level=1)).to_have_text("Payment approved")
        expect(seen.page.get_by_role("link", name="Return to")).to_be_visible()


class TestKeyboard:
    def test_completes_the_page(self, service, start, browser):
        payment = start()
        with visit(browser) as seen:
            page = seen.page
            page.goto(payment["redirect_link"])
            expect(page.get_by_label("One-time code")).to_be_focused()

            page.keyboard.type("123456")
            page.keyboard.press("Enter")

            expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
        assert status_of(service, payment) == "success"

    def test_moves_focus_from_code_to_approve_to_decline(self, service, start, browser):
        with visit(browser) as seen:
            page = seen.page
            page.goto(start()["redirect_link"])
            expect(page.get_by_label("One-time code")).to_be_focused()

            page.keyboard.press("Tab")
            expect(page.get_by_role("button", name="Approve")).to_be_focused()
            page.keyboard.press("Tab")
            expect(page.get_by_role("button", name="Decline")).to_be_focused()


class TestDocumentationPages:
    @pytest.mark.parametrize("path", ["/", "/docs/test-data", "/docs/errors/", "/docs/errors/not_found"])
    def test_fit_a_phone_and_load_nothing_from_other_hosts(self, service, browser, path):
        with visit(browser, viewport={"width": 390, "height": 844}) as seen:
            seen.page.goto(service.base_url + path)

            assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
            assert seen.complaints == []
            assert seen.origins == {service.base_url}
