"""The API reference in a real browser: Swagger UI under the same content security policy as every other page."""

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import chromium, visit

pytestmark = pytest.mark.e2e

PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


@pytest.fixture(params=[{}, PHONE], ids=["desktop", "phone in dark mode"])
def seen(request):
    with chromium() as browser, visit(browser, **request.param) as visited:
        yield visited


class TestApiPage:
    def test_shows_an_operation_and_loads_nothing_from_other_hosts(self, service, seen):
        page = seen.page
        page.goto(f"{service.base_url}/api/docs")

        page.get_by_role("button", name="post /api/payments", exact=True).click()

        operation = page.locator("#operations-Payments-createPayment")
        expect(operation.get_by_text("A declined payment is created too")).to_be_visible()
        expect(operation).to_contain_text("4084084084084081")
        expect(page.get_by_role("button", name="Try it out")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert seen.complaints == []
        assert seen.origins - {"data://"} == {service.base_url}
