"""The guides in a real browser: layout, keyboard navigation, and copying of samples."""

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import visit

pytestmark = pytest.mark.e2e

PATHS = [
    "/docs/",
    "/docs/quickstart",
    "/docs/signing",
    "/docs/card-payments",
    "/docs/webhooks",
    "/docs/operations",
]


class TestGuides:
    @pytest.mark.parametrize("path", PATHS)
    def test_fit_every_screen_and_load_nothing_from_other_hosts(self, service, seen, path):
        seen.page.goto(service.base_url + path)

        content, window = seen.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert content <= window
        expect(seen.page.get_by_role("heading", level=1)).to_be_visible()
        expect(seen.page.get_by_role("navigation", name="Guides")).to_be_visible()
        assert seen.complaints == []
        assert seen.origins == {service.base_url}


class TestSamples:
    def test_change_language_without_a_script(self, service, seen):
        page = seen.page
        page.goto(f"{service.base_url}/docs/signing")
        expect(page.get_by_text("import hashlib").first).to_be_visible()

        page.get_by_text("Go", exact=True).click()

        expect(page.get_by_text("package main")).to_be_visible()
        expect(page.get_by_text("import hashlib").first).to_be_hidden()

    def test_change_language_with_the_keyboard(self, service, browser):
        with visit(browser) as seen:
            seen.page.goto(f"{service.base_url}/docs/signing")
            seen.page.get_by_role("radio", name="Python", exact=True).focus()

            for _ in range(3):
                seen.page.keyboard.press("ArrowRight")

            expect(seen.page.get_by_role("radio", name="Node")).to_be_checked()
            expect(seen.page.get_by_text("node:crypto").first).to_be_visible()

    def test_stay_in_the_language_that_was_chosen(self, service, browser):
        with visit(browser) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/docs/card-payments")
            page.get_by_text("Node", exact=True).nth(3).click()
            expect(page.get_by_text("client.payments.card(").nth(1)).to_be_visible()

            page.goto(f"{service.base_url}/docs/payouts")

            expect(page.get_by_text("await client.payouts.create(").first).to_be_visible()
            expect(page.get_by_text("POST /api/payments\n").first).to_be_hidden()
            assert seen.complaints == []

    def test_are_copied_unchanged(self, service, browser):
        with visit(browser, permissions=["clipboard-read", "clipboard-write"]) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/docs/quickstart")

            page.get_by_role("button", name="Copy").first.click()

            expect(page.get_by_role("button", name="Copied")).to_be_visible()
            assert page.evaluate("navigator.clipboard.readText()") == "make run\n"
            assert seen.complaints == []
