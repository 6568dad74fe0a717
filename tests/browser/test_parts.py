"""Parts of a page that refresh automatically, after the session or the reauthentication has expired."""

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.chromium import visit
from tests.browser.page_states.actions import AN_HOUR_LATER
from tests.browser.people import press, sign_in

pytestmark = pytest.mark.e2e

POST_AS_A_PART = """
const csrfmiddlewaretoken = document.querySelector("[name=csrfmiddlewaretoken]").value;
const values = { csrfmiddlewaretoken, url: "http://127.0.0.1:9/other", payment: "on", enabled: "on" };
htmx.ajax("POST", "/dashboard/webhooks/", { target: "#detail", values });
"""


@pytest.fixture
def live_delivery(service, owner, browser):
    """The page of a delivery that awaits its next attempt, and therefore refreshes automatically."""
    endpoint = ["--url", "http://127.0.0.1:9/hooks", "--events", "payment"]
    service.command("configure_webhook", "--business", owner.business, *endpoint)
    owner.client.post("/api/payments", orders.card_payment())
    with visit(browser) as seen:
        seen.page.goto(f"{service.base_url}/dashboard/webhooks/deliveries/")
        sign_in(seen.page, owner.email, owner.password)
        seen.page.get_by_role("link", name="payment.success").click()
        expect(seen.page.locator("#detail[data-poll]")).to_be_visible()
        yield seen
        assert seen.complaints == []


class TestPart:
    def test_redirects_to_sign_in_after_the_session_ends_and_back(self, owner, live_delivery):
        page = live_delivery.page
        address = page.url

        with page.expect_navigation():
            page.context.clear_cookies()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        sign_in(page, owner.email, owner.password)

        assert page.url == address
        expect(page.get_by_role("heading", level=1)).to_have_text("payment.success Retrying")

    def test_redirects_to_reauthentication_and_keeps_the_submitted_form(self, service, owner, live_delivery):
        page = live_delivery.page
        assert service.command("shell", "-c", AN_HOUR_LATER).returncode == 0

        with page.expect_navigation():
            page.evaluate(POST_AS_A_PART)
        expect(page.get_by_role("heading", level=1)).to_have_text("Confirm it's you")
        page.get_by_label("Password").fill(owner.password)
        press(page, "Confirm")
        expect(page.get_by_text("http://127.0.0.1:9/other")).to_be_visible()
        press(page, "Continue")

        expect(page.get_by_text("Webhook settings saved.")).to_be_visible()
        expect(page.get_by_label("Webhook URL")).to_have_value("http://127.0.0.1:9/other")
