"""A payer in a real browser whose card is entered on Paystack's page: there and back, left, taken up again, in two tabs."""

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.chromium import visit
from tests.journeys.service import start_service

pytestmark = pytest.mark.e2e


@pytest.fixture
def paystack(tmp_path):
    """The sandbox with a simulated Paystack."""
    with start_service(tmp_path, "--rails", "paystack") as service:
        yield service


def test_payer_leaves_their_page_comes_back_and_pays_once(paystack, browser):
    link = paystack.client.post("/api/payment-links", orders.payment_link()).json()
    with visit(browser, java_script_enabled=False) as seen:
        page = seen.page
        page.goto(link["url"])
        page.get_by_label("Name").fill("Ada Obi")
        page.get_by_label("Email").fill("ada@example.com")
        page.get_by_role("button").click()
        checkout = page.url
        page.get_by_role("button", name="Continue to pay").click()

        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("heading", name="You have not paid yet")).to_be_visible()
        page.get_by_role("link", name="Continue at Paystack").click()
        expect(page.get_by_role("button", name="Be declined")).to_be_visible()
        page.go_back()
        tab = page.context.new_page()
        tab.goto(checkout)
        expect(tab.get_by_role("button", name="Continue to pay")).to_have_count(0)
        tab.get_by_role("link", name="Continue at Paystack").click()
        tab.get_by_role("button", name="Be declined").click()
        tab.get_by_role("button", name="Pay with a test card").click()

        expect(tab.get_by_role("heading", name="Payment received")).to_be_visible()
        page.goto(checkout)
        expect(page.get_by_role("heading", name="Payment received")).to_be_visible()
        assert seen.complaints == []
    paid = paystack.client.get(f"/api/payments?payment_link_id={link['id']}").json()["data"]
    assert [each["status"] for each in paid] == ["success"]
