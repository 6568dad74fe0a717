"""Core flows of the dashboard in a browser without JavaScript."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import visit
from tests.browser.page_states.actions import AN_HOUR_LATER
from tests.browser.people import open_business, press
from tests.receiver import running_receiver

pytestmark = pytest.mark.e2e


@pytest.fixture
def page(service, browser):
    """The owner of a new business, signed in."""
    owner = open_business(service)
    with visit(browser, java_script_enabled=False, viewport={"width": 390, "height": 844}) as seen:
        owner.sign_in(seen.page)
        seen.page.password = owner.password
        expect(seen.page).to_have_title("Overview · Ada Books")
        yield seen.page
        assert seen.complaints == []


def follow(page, name):
    with page.expect_navigation():
        page.get_by_role("link", name=name, exact=True).first.click()


def try_out(service, page, scenario, *, button="Send request"):
    page.goto(f"{service.base_url}/dashboard/sandbox/?scenario={scenario}")
    press(page, button)
    expect(page.get_by_role("heading", level=2).filter(has_text=re.compile("Response: 20"))).to_be_visible()


class TestWithoutJavaScript:
    def test_form_is_submitted_after_reauthentication(self, service, page):
        page.goto(f"{service.base_url}/dashboard/developers/keys/new/")
        page.get_by_label("Name").fill("Till 7")
        assert service.command("shell", "-c", AN_HOUR_LATER).returncode == 0
        page.get_by_role("button", name=re.compile("Create")).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Confirm it's you")
        expect(page.get_by_text("You asked to create an API key. Nothing has changed yet.")).to_be_visible()
        with page.expect_popup() as opened:
            page.get_by_role("link", name="Confirm in a new tab").click()
        opened.value.get_by_label("Password").fill(page.password)
        press(opened.value, "Confirm")
        opened.value.close()
        expect(page.get_by_text("Till 7")).to_be_visible()
        press(page, "Continue")

        expect(page.locator("[data-secret]").first).to_be_visible()

    def test_endpoint_is_configured_and_a_delivery_resent(self, service, page):
        with running_receiver(lambda count: 500 if count == 1 else 200) as receiver:
            page.goto(f"{service.base_url}/dashboard/webhooks/")
            page.get_by_label("Webhook URL").fill(receiver.url)
            page.get_by_label("Enabled").check()
            press(page, "Save")
            expect(page.locator('[data-secret="hash-key"]')).to_be_visible()
            try_out(service, page, "payment.success")
            receiver.wait_for(1)
            page.goto(f"{service.base_url}/dashboard/webhooks/deliveries/")
            follow(page, "payment.success")

            press(page, "Retry now")
            receiver.wait_for(2)
            until_shown(page, "Resend")
            press(page, "Resend")

            receiver.wait_for(3)

    def test_payment_is_created_captured_and_refunded(self, service, page):
        try_out(service, page, "payment.authorised")
        follow(page, "Open payment")
        follow(page, "Capture")
        press(page, "Capture payment")
        expect(page.get_by_text("Captured NGN 2,500.00.")).to_be_visible()
        follow(page, "Refund")
        page.get_by_label("Amount to refund").fill("200.00")
        press(page, "Review refund")
        press(page, "Refund NGN 200.00")

        expect(page.get_by_text("Refunded NGN 200.00.")).to_be_visible()

    def test_unapplied_money_is_credited(self, service, page):
        page.goto(f"{service.base_url}/dashboard/virtual-accounts/new/")
        for label, text in {"First name": "Ada", "Last name": "Obi", "Email": "ada@shop.example"}.items():
            page.get_by_label(label, exact=True).fill(text)
        press(page, "Create account")
        try_out(service, page, "payment.mismatch", button="Play all steps")
        page.goto(f"{service.base_url}/dashboard/virtual-accounts/unapplied/")
        with page.expect_navigation():
            page.locator(".table__link").first.click()

        page.locator("#credit_reason").fill("The customer pays the rest in cash")
        press(page, "Review credit")
        press(page, "Credit NGN 2,499.00")

        expect(page.get_by_text("NGN 2,499.00 was credited to your balance.")).to_be_visible()

    def test_scenario_is_played_step_by_step_and_shown_in_tabs(self, service, page):
        try_out(service, page, "payment.captured.part")
        for name in ("Webhook", "Python", "Response"):
            page.get_by_text(name, exact=True).click()
            expect(page.get_by_role("radio", name=name)).to_be_checked()
        follow(page, "Next step: Capture the payment")
        press(page, "Send request")
        expect(page.get_by_role("heading", level=2).filter(has_text="Response: 200 OK")).to_be_visible()

        press(page, "Settle now")

        expect(page.get_by_text("1 settlement released.")).to_be_visible()

    def test_payment_link_is_created_changed_and_deactivated(self, service, page):
        page.goto(f"{service.base_url}/dashboard/payment-links/")
        follow(page, "New payment link")
        page.get_by_label("Title").fill("Bookbinding workshop")
        page.get_by_label("Amount", exact=True).fill("99.99")
        press(page, "Create payment link")
        page.get_by_role("link", name="Amount: Enter NGN 100.00 or more.").click()
        expect(page.get_by_label("Amount", exact=True)).to_be_focused()
        page.get_by_label("Amount", exact=True).fill("15,000")
        press(page, "Create payment link")
        expect(page.get_by_role("heading", level=1)).to_have_text("Bookbinding workshop Active")
        follow(page, "Edit")
        page.get_by_label("Maximum uses").fill("20")
        press(page, "Save changes")
        expect(page.get_by_text("Payment link saved.")).to_be_visible()
        follow(page, "Deactivate")
        press(page, "Deactivate link")

        expect(page.get_by_role("heading", level=1)).to_have_text("Bookbinding workshop Inactive")
        page.goto(f"{service.base_url}/dashboard/payment-links/?status=inactive")
        expect(page.get_by_text("0 of 20")).to_be_visible()


def until_shown(page, button):
    """Reload the page until the content is shown, because nothing refreshes automatically."""
    for _ in range(40):
        if page.get_by_role("button", name=button).count():
            return
        page.wait_for_timeout(250)
        page.reload()
    pytest.fail(f"{button!r} never appeared")
