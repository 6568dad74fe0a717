"""Parts of a page that refresh automatically, after the session has expired."""

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.chromium import visit
from tests.browser.people import sign_in

pytestmark = pytest.mark.e2e


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
