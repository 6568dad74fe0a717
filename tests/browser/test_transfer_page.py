"""The payer's page of a bank transfer in a real browser."""

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.chromium import visit

pytestmark = pytest.mark.e2e


@pytest.fixture
def payment(service):
    account = service.client.post("/api/virtual-accounts", orders.dynamic_account()).json()
    return service.client.post("/api/payments", orders.transfer_payment(account["id"])).json()


def transfer(service, payment, amount=50_000):
    number = payment["virtual_account_details"]["account_number"]
    answer = service.client.post(
        "/api/virtual-accounts/simulate", {"account_number": number, "amount": amount}
    )
    assert answer.status_code == 200


class TestPayer:
    def test_sees_the_transfer_arrive_without_reloading(self, service, payment, browser):
        with visit(browser) as seen:
            page = seen.page
            page.goto(f"{service.base_url}/pay/{payment['id']}")
            expect(page.get_by_text("14:")).to_be_visible()
            transfer(service, payment)

            expect(page.get_by_role("heading", level=1)).to_have_text("Payment received", timeout=15_000)
            assert page.title() == "Payment received"
            assert seen.complaints == []
            assert seen.origins == {service.base_url}

    def test_copies_the_account_number(self, service, payment, browser):
        with visit(browser) as seen:
            page = seen.page
            page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            page.goto(f"{service.base_url}/pay/{payment['id']}")

            page.get_by_role("button", name="Copy").click()

            expect(page.get_by_role("button", name="Copied")).to_be_visible()
            copied = page.evaluate("navigator.clipboard.readText()")
            assert copied == payment["virtual_account_details"]["account_number"]

    def test_sends_no_requests_while_the_page_is_hidden(self, service, payment, browser):
        with visit(browser) as seen:
            page, address = seen.page, f"{service.base_url}/pay/{payment['id']}"
            asked = []
            page.goto(address)
            page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
            page.on("request", lambda request: asked.append(request.url))

            page.wait_for_timeout(6_000)
            assert address not in asked

            page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
            page.wait_for_timeout(500)
            assert address in asked

    def test_works_without_javascript(self, service, payment, browser):
        with visit(browser, java_script_enabled=False) as seen:
            seen.page.goto(f"{service.base_url}/pay/{payment['id']}")
            transfer(service, payment)

            seen.page.get_by_role("link", name="I have sent the money").click()

            expect(seen.page.get_by_role("heading", level=1)).to_have_text("Payment received")

    def test_fits_a_phone(self, service, payment, browser):
        with visit(browser, viewport={"width": 390, "height": 844}) as seen:
            seen.page.goto(f"{service.base_url}/pay/{payment['id']}")

            assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
