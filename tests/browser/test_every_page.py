"""Every page in a real browser, light and dark, on a desk and on a phone: nothing sticks out, nothing is in the way."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import Resolver404, resolve

from config.access_rules import routes
from tests.browser.stage import full_stage
from tests.browser.tour import LEGS, go, on
from tests.journeys.service import start_service

pytestmark = pytest.mark.e2e

SEEN_AS = [(1280, "light"), (390, "dark")]

# Named addresses that are no pages: they answer programs, do something and lead on, or give a file.
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

SECOND_NAMES = {"account_login", "sign-in", "mfa_list_webauthn"}  # of addresses that have another

# Fields whose stylesheet is missing keep the browser's own border.
UNSTYLED = """
[...document.querySelectorAll("main input:not([type=hidden], [type=checkbox], [type=radio]), main textarea")]
  .filter((each) => getComputedStyle(each).borderTopStyle === "inset").map((each) => each.outerHTML)
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    with start_service(tmp_path_factory.mktemp("tour")) as service, full_stage(service) as stage:
        yield stage


@pytest.fixture(scope="module")
def visited():
    return set()


def serious(page):
    """Return axe's findings that exclude users. What Swagger UI draws inside our page is a package's."""
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


@pytest.mark.timeout(900)  # seconds: the longest leg has some sixty stops
class TestEveryPage:
    @pytest.mark.parametrize("leg", LEGS)
    def test_fits_the_screen_and_is_accessible(self, stage, browser, visited, leg):
        is_ours = leg != "staff"  # Django's administration scrolls its wide tables sideways
        with on(browser, LEGS[leg], stage) as (seen, stops):
            findings = {}
            for stop in stops:
                visited.add(name_of(stop.path))
                for number, (width, scheme) in enumerate(SEEN_AS):
                    seen.page.set_viewport_size({"width": width, "height": 844})
                    seen.page.emulate_media(color_scheme=scheme)
                    if number == 0 or stop.act is None:
                        go(stage, seen.page, stop)
                    found = examine(seen.page, width)
                    if any(found.values() if is_ours else [found["serious"]]):
                        findings[stop.name, scheme] = found
        assert findings == {}

    def test_is_visited(self, visited):
        if len(visited) < len(LEGS):
            pytest.skip("only some of the legs ran")
        named = {each.name for route, each in routes() if each.name and not route.startswith("admin/")}

        assert named - visited - NO_PAGES - SECOND_NAMES == set()


def name_of(path):
    try:
        return resolve(path.partition("?")[0]).url_name
    except Resolver404:
        return ""
