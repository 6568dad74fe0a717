"""Every page in a real browser, in light and dark mode, on desktop and phone: layout and accessibility."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import Resolver404, resolve

from config.access_rules import routes
from tests.browser.page_states import PERSONAS, go, on
from tests.browser.sample_data import create_sample_data
from tests.journeys.service import start_service

pytestmark = pytest.mark.e2e

SEEN_AS = [(1280, "light"), (390, "dark")]

# Named URLs that are not pages: they serve programs, perform an action and redirect, or return a file.
NO_PAGES = {
    "payments", "payment", "capture", "void", "refunds", "virtual-accounts", "virtual-account", "simulate",
    "deactivate", "balance", "banks", "openapi", "bank-transfers", "livez", "readyz", "metrics", "sample",
    "cancel", "refund", "unapplied-transfers", "credit-unapplied", "return-unapplied", "settlements", "settlement",
    "events", "event", "movements", "resolve-beneficiary", "advance", "bank-payout-returns",
    "dashboard-balance-export",
    "dashboard-payments-export", "dashboard-payouts-export", "dashboard-activity-export",
    "dashboard-settlement-export", "dashboard-test-event", "dashboard-replay", "dashboard-remove-member",
    "dashboard-withdraw", "dashboard-activate-account", "dashboard-expire-now", "dashboard-retry-now",
    "switch-business", "name", "end-session", "end-other-sessions", "sign-out", "mfa_login_webauthn",
}  # fmt: skip

WHAT_IS_OURS = {"exclude": [[".swagger-ui"]]}

SECOND_NAMES = {"account_login", "sign-in", "mfa_list_webauthn"}  # other names of visited URLs

# Fields without our styles have the browser's default border.
UNSTYLED = """
[...document.querySelectorAll("main input:not([type=hidden], [type=checkbox], [type=radio]), main textarea")]
  .filter((each) => getComputedStyle(each).borderTopStyle === "inset").map((each) => each.outerHTML)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    with start_service(tmp_path_factory.mktemp("service")) as service, create_sample_data(service) as data:
        yield data


@pytest.fixture(scope="module")
def visited():
    return set()


def serious(page):
    """Return axe's serious findings, except those in the markup of Swagger UI."""
    return [
        (found["id"], [node["html"][:200] for node in found["nodes"]])
        for found in Axe().run(page, context=WHAT_IS_OURS).response["violations"]
        if found["impact"] in {"serious", "critical"}
    ]


def examine(page, width):
    return {
        "serious": serious(page),
        "too wide": page.evaluate("document.documentElement.scrollWidth") > width,
        "unstyled": page.evaluate(UNSTYLED),
    }


@pytest.mark.timeout(900)  # seconds: the longest persona has about sixty pages
class TestEveryPage:
    @pytest.mark.parametrize("persona", PERSONAS)
    def test_fits_the_screen_and_is_accessible(self, data, browser, visited, persona):
        is_ours = persona != "staff"  # Django's administration scrolls wide tables horizontally
        with on(browser, PERSONAS[persona], data) as (seen, states):
            findings = {}
            for state in states:
                visited.add(name_of(state.path))
                for number, (width, scheme) in enumerate(SEEN_AS):
                    seen.page.set_viewport_size({"width": width, "height": 844})
                    seen.page.emulate_media(color_scheme=scheme)
                    if number == 0 or state.action is None:
                        go(data, seen.page, state)
                    found = examine(seen.page, width)
                    if any(found.values() if is_ours else [found["serious"]]):
                        findings[state.name, scheme] = found
        assert findings == {}

    def test_is_visited(self, visited):
        if len(visited) < len(PERSONAS):
            pytest.skip("only some of the personas ran")
        named = {each.name for route, each in routes() if each.name and not route.startswith("admin/")}

        assert named - visited - NO_PAGES - SECOND_NAMES == set()


def name_of(path):
    try:
        return resolve(path.partition("?")[0]).url_name
    except Resolver404:
        return ""
