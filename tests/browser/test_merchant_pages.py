"""The merchant's pages in a real browser: a key shown once, a test event, a resent delivery, a capture and a
refund.
"""

import re

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.chromium import visit
from tests.browser.people import press
from tests.receiver import running_receiver

pytestmark = pytest.mark.e2e

AREAS = ["payments", "payouts", "payment-links", "virtual-accounts", "webhooks", "settlements", "sandbox"]


@pytest.fixture
def page(service, owner, seen):
    owner.sign_in(seen.page)
    yield seen.page
    assert seen.complaints == []
    assert seen.origins == {service.base_url}


def save_endpoint(service, page, url):
    page.goto(f"{service.base_url}/dashboard/webhooks/")
    page.get_by_label("Webhook URL").fill(url)
    page.get_by_label("Payment events").check()
    page.get_by_label("Enabled").check()
    press(page, "Save")
    return page.locator('[data-secret="hash-key"]').inner_text()


class TestWebhooks:
    def test_show_a_key_once_and_a_new_one_after_rotation(self, service, page):
        first = save_endpoint(service, page, "http://127.0.0.1:9/hooks")
        page.goto(f"{service.base_url}/dashboard/webhooks/")
        assert first not in page.content()

        press(page, "Rotate signing key")
        press(page, "Rotate signing key")

        assert page.locator('[data-secret="hash-key"]').inner_text() != first

    def test_send_a_test_event_to_a_real_receiver(self, service, page):
        with running_receiver() as receiver:
            save_endpoint(service, page, receiver.url)
            page.goto(f"{service.base_url}/dashboard/webhooks/")

            press(page, "Send test event")

            receiver.wait_for(1)
            page.wait_for_timeout(500)
            page.reload()
            expect(page.get_by_text(re.compile("Attempt .*: responded with 200"))).to_be_visible(
                timeout=10_000
            )

    def test_resend_a_failed_delivery(self, service, page, owner):
        with running_receiver(lambda count: 500 if count == 1 else 200) as receiver:
            save_endpoint(service, page, receiver.url)
            owner.client.post("/api/payments", orders.card_payment())
            receiver.wait_for(1)
            page.wait_for_timeout(500)
            page.goto(f"{service.base_url}/dashboard/webhooks/deliveries/")
            page.get_by_role("link", name="payment.success").click()
            expect(page.get_by_text("Attempt 1: responded with 500")).to_be_visible()

            press(page, "Retry now")

            receiver.wait_for(2)
            page.wait_for_timeout(500)
            page.reload()
            expect(page.get_by_text(re.compile("Attempt .*: responded with 200"))).to_be_visible(
                timeout=10_000
            )


class TestPayment:
    def test_is_captured_and_refunded(self, service, page, owner):
        order = orders.card_payment(capture=False)
        owner.client.post("/api/payments", order)
        page.goto(f"{service.base_url}/dashboard/payments/?q={order['reference']}")
        page.locator(".table__link").first.click()

        page.get_by_role("link", name="Capture", exact=True).click()
        press(page, "Capture payment")
        expect(page.get_by_text("Captured NGN 500.00.")).to_be_visible()
        page.get_by_role("link", name="Refund", exact=True).click()
        page.get_by_label("Amount to refund").fill("200.00")
        press(page, "Review refund")
        press(page, "Refund NGN 200.00")

        expect(page.get_by_text("Refunded NGN 200.00.")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("refunded", re.IGNORECASE))


class TestEveryArea:
    @pytest.mark.parametrize("width", [1280, 390])
    def test_fits_with_long_texts(self, service, owner, browser, width):
        client = owner.client
        client.post("/api/payments", orders.card_payment(reference="x" * 100, amount=10**12))
        client.post("/api/payments", orders.payout())
        with visit(browser, viewport={"width": width, "height": 844}) as seen:
            owner.sign_in(seen.page)
            for area in ["", *(f"{area}/" for area in AREAS)]:
                seen.page.goto(f"{service.base_url}/dashboard/{area}")
                assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, area
            assert seen.complaints == []
