"""The API reference in a real browser: under the content security policy, without JavaScript, by keyboard, on a phone."""

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import chromium, visit

pytestmark = pytest.mark.e2e

PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(params=[{}, PHONE], ids=["desktop", "phone in dark mode"])
def seen(browser, request):
    with visit(browser, **request.param) as visited:
        yield visited


class TestApiPage:
    def test_shows_an_operation_and_loads_nothing_from_other_hosts(self, service, seen):
        page = seen.page
        page.goto(f"{service.base_url}/api/docs")

        page.locator(".api__list").get_by_role(
            "link", name="Create a payment, a payout or a card check"
        ).click()

        expect(page.get_by_role("heading", level=1)).to_have_text(
            "Create a payment, a payout or a card check"
        )
        expect(page.locator(".api__code")).to_contain_text("4084084084084081")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert seen.complaints == []
        assert seen.origins - {"data://"} == {service.base_url}

    def test_switches_languages_without_javascript(self, service, browser):
        with visit(browser, java_script_enabled=False) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/api/docs/create-payment")
            expect(page.get_by_text("client.payments.card(").first).to_be_hidden()

            page.get_by_text("Python", exact=True).click()

            expect(page.get_by_text("client.payments.card(").first).to_be_visible()
            expect(page.get_by_text("sluice sign POST")).to_be_hidden()

    def test_switches_languages_by_keyboard(self, service, browser):
        with visit(browser) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/api/docs/create-payment")

            page.get_by_role("radio", name="curl").focus()
            page.keyboard.press("ArrowRight")

            expect(page.get_by_role("radio", name="Python")).to_be_checked()

    def test_keeps_the_samples_in_sight(self, service, browser):
        with visit(browser, viewport={"width": 1280, "height": 844}) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/api/docs/create-payment")

            page.mouse.wheel(0, 1500)

            expect(page.locator(".api__choices")).to_be_in_viewport()
            expect(page.locator(".contents [aria-current]")).to_be_in_viewport()

    @pytest.mark.parametrize("has_javascript", [True, False])
    def test_has_its_contents_behind_a_button_on_a_phone(self, service, browser, has_javascript):
        with visit(browser, **PHONE, java_script_enabled=has_javascript) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/api/docs/create-payment")
            link = page.locator(".contents").get_by_role("link", name="Refund a payment")
            expect(link).to_be_hidden()

            page.get_by_role("button", name="Contents").click()
            link.click()

            expect(page.get_by_role("heading", level=1)).to_have_text("Refund a payment")

    def test_copies_the_sample_that_is_shown(self, service, browser):
        with visit(browser, permissions=["clipboard-read", "clipboard-write"]) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/api/docs/get-payment")

            page.get_by_text("Node", exact=True).click()
            page.get_by_role("button", name="Copy this sample").click()

            assert "Sluice.fromEnv()" in page.evaluate("navigator.clipboard.readText()")


class TestSearch:
    def test_is_focused_by_a_slash_and_sent_by_enter(self, service, browser):
        with visit(browser) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/docs/webhooks")

            page.keyboard.press("/")
            page.keyboard.type("duplicate_reference")
            page.keyboard.press("Enter")

            expect(page.locator(".results a").first).to_have_attribute(
                "href", "/docs/errors/duplicate_reference"
            )
            assert seen.complaints == []
