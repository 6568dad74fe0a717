"""Unapplied money in a real browser: simulated in the sandbox, decided in the inbox."""

import pytest
from playwright.sync_api import expect

from tests.browser.people import press

pytestmark = pytest.mark.e2e


def try_out(service, page):
    page.goto(f"{service.base_url}/dashboard/sandbox/?scenario=payment.mismatch")
    press(page, "Play all steps")
    expect(page.get_by_role("heading", level=2).filter(has_text="Response: 20")).to_be_visible()


def open_item(service, page):
    """Open the only item in the inbox, starting from the area's first page."""
    page.goto(f"{service.base_url}/dashboard/virtual-accounts/")
    press(page, "Unapplied transfers (1)", "link")
    page.locator(".table__link").first.click()
    expect(page.get_by_text("The amount didn't match the payment, which failed.")).to_be_visible()


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


class TestMismatch:
    def test_is_simulated_and_credited(self, service, owner, seen):
        page = seen.page
        owner.sign_in(page, is_patient=True)
        try_out(service, page)
        open_item(service, page)
        assert fits(page)

        page.locator("#credit_reason").fill("The customer pays the rest in cash")
        press(page, "Review credit")
        assert fits(page)
        press(page, "Credit NGN 2,499.00")

        expect(page.get_by_text("NGN 2,499.00 was credited to your balance.")).to_be_visible()
        expect(page.get_by_text("The customer pays the rest in cash")).to_be_visible()
        expect(page.get_by_role("button", name="Review return of NGN 2,499.00")).to_have_count(0)
        assert fits(page)
        page.goto(f"{service.base_url}/dashboard/balance/")
        expect(page.get_by_text("NGN 2,499.00").first).to_be_visible()
        assert seen.complaints == []
        assert seen.origins - {"data://"} == {service.base_url}

    def test_is_simulated_and_returned(self, service, owner, seen):
        page = seen.page
        owner.sign_in(page, is_patient=True)
        try_out(service, page)
        open_item(service, page)

        page.get_by_label("Sender's account number").fill("0123456789")
        page.get_by_label("Sender's bank").select_option("058")
        page.locator("#return_reason").fill("Asked to send the right amount")
        press(page, "Review return of NGN 2,499.00")
        assert fits(page)
        press(page, "Return NGN 2,499.00")

        expect(page.get_by_text("Returned NGN 2,499.00 to the sender.")).to_be_visible()
        press(page, "return_", "link", exact=False)
        expect(
            page.get_by_text("Asked to send the right amount").locator("visible=true").first
        ).to_be_visible()
        expect(page.get_by_text("Guaranty Trust Bank").locator("visible=true").first).to_be_visible()
        assert fits(page)
        assert seen.complaints == []
