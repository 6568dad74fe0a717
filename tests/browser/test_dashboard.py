"""The dashboard in a real browser: sign-in, pages and sign-out."""

import json
import secrets
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.chromium import visit
from tests.browser.people import open_business, open_navigation, press, sign_in

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def owner(service):
    """A user for tests that only read."""
    return open_business(service, "Demo Business")


@pytest.fixture(scope="module")
def large(service):
    """A user whose business has a volume of ten billion naira."""
    opened = open_business(service, "Large Business")
    order = orders.card_payment(amount=1_000_000_000_000, reference=orders.new_reference("large"))
    opened.client.post("/api/payments", order)
    return opened


class TestOwner:
    def test_signs_in_opens_pages_and_signs_out(self, service, owner, seen):
        page = seen.page

        replace(owner, email=owner.email.upper()).sign_in(page)

        expect(page).to_have_title("Overview · Demo Business")
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        open_navigation(page)
        expect(page.get_by_role("link", name="Overview", exact=True)).to_have_attribute(
            "aria-current", "page"
        )
        assert owner.credentials.secret_key not in page.content()
        page.locator(".side__foot summary").click()
        press(page, "Sign out")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        page.goto(f"{service.base_url}/dashboard/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert seen.complaints == []
        assert seen.origins == {service.base_url}

    def test_sees_a_new_payment(self, service, owner, seen):
        order = orders.card_payment(amount=12_345_600, reference=orders.new_reference("a" * 60))
        owner.client.post("/api/payments", order)

        owner.sign_in(seen.page)

        row = seen.page.get_by_role("row").filter(has_text=order["reference"])
        expect(row).to_contain_text("NGN 123,456.00")
        expect(row).to_contain_text("Succeeded")
        width = seen.page.viewport_size["width"]
        table = seen.page.locator("table").bounding_box()
        assert table["x"] + table["width"] <= width
        assert seen.complaints == []


class TestUnknownUser:
    def test_gets_one_error_message(self, service, browser):
        with visit(browser) as seen:
            seen.page.goto(f"{service.base_url}/dashboard/")
            sign_in(seen.page, f"{secrets.token_hex(5)}@example.com", "wrong")

            expect(seen.page.get_by_role("alert")).to_contain_text("Incorrect email or password")
            expect(seen.page.get_by_label("Password")).to_be_focused()
            expect(seen.page.get_by_label("Password")).to_have_value("")
            assert seen.complaints == []


class TestKeyboard:
    def test_completes_the_page(self, service, owner, browser):
        with visit(browser) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/dashboard/")
            expect(page.get_by_label("Email")).to_be_focused()

            page.keyboard.type(owner.email)
            page.keyboard.press("Tab")
            page.keyboard.type(owner.password)
            page.keyboard.press("Enter")

            expect(page).to_have_title("Overview · Demo Business")
            page.keyboard.press("Tab")
            expect(page.get_by_role("link", name="Skip to content")).to_be_focused()


class TestPhone:
    def test_has_no_horizontal_scrolling(self, service, owner, browser):
        with visit(browser, viewport={"width": 390, "height": 844}) as seen:
            owner.sign_in(seen.page)

            assert seen.page.evaluate("document.documentElement.scrollWidth") == 390


class TestLargeAmounts:
    @pytest.mark.parametrize("width", [390, 1120, 1280])
    def test_fit_into_their_figures(self, large, browser, width):
        with visit(browser, viewport={"width": width, "height": 844}) as seen:
            large.sign_in(seen.page)

            expect(seen.page.get_by_role("link", name="Volume").first).to_contain_text("10,000,000,000.00")
            too_wide = (
                "[...document.querySelectorAll('.stat')].filter(it => it.scrollWidth > it.clientWidth).length"
            )
            assert seen.page.evaluate(too_wide) == 0
            assert seen.page.evaluate("document.documentElement.scrollWidth") == width

    def test_are_read_from_the_chart_with_the_keyboard(self, large, browser):
        with visit(browser, java_script_enabled=False, viewport={"width": 390, "height": 844}) as seen:
            large.sign_in(seen.page)
            point = seen.page.get_by_role("link", name="NGN 10,000,000,000.00, 1 payment")
            reading = point.locator("text")
            expect(reading).to_have_css("opacity", "0")

            seen.page.get_by_role("link", name="Available balance").focus()
            for _ in range(30):
                seen.page.keyboard.press("Tab")

            expect(point).to_be_focused()
            expect(reading).to_have_css("opacity", "1")
            seen.page.keyboard.press("Enter")
            expect(seen.page.get_by_role("heading", level=1)).to_have_text("Payments")
            expect(seen.page.get_by_text("1 payment · NGN 10,000,000,000.00 succeeded")).to_be_visible()


class TestAdministration:
    def test_accepts_sign_in_from_a_browser(self, service, browser):
        credentials = service.folder / "credentials.json"
        if not credentials.exists():
            pytest.skip("the administrator is a sandbox's; PostgreSQL has no sandbox")
        document = json.loads(credentials.read_text())
        with visit(browser) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/admin/")
            page.get_by_label("Email").fill(document["admin_email"])
            page.get_by_label("Password").fill(document["admin_password"])
            page.get_by_role("button", name="Sign in").click()

            expect(page.get_by_role("heading", name="Overview")).to_be_visible()
