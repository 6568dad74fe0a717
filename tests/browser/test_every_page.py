"""Every named URL has a page state, which the tests of pages visit."""

import pytest
from django.urls import Resolver404, resolve

from merchants.people.access import Who, routes, rule_of
from tests.browser.page_states import PERSONAS
from tests.browser.page_states.state import on
from tests.browser.sample_data import create_sample_data
from tests.journeys.service import start_service

pytestmark = pytest.mark.e2e

# Named URLs that are viewed, but no pages: they serve programs or crawlers, or return a file.
NO_PAGES = {
    "livez", "readyz", "metrics", "favicon", "robots", "security-contact", "sample", "theme", "logo", "checkout-state",
    "end-attempt", "openapi", "scenarios", "postman-collection", "bruno-collection", "dashboard-link-qr-svg",
    "dashboard-link-qr-png", "dashboard-dispute-file", "mfa_login_webauthn",
}  # fmt: skip
FILES = "<file_type:file_type>"

# Pages that an action leads to, because their address is only known then.
REACHED_BY_ACTIONS = {"dashboard-saved-view"}

SECOND_NAMES = {"account_login", "sign-in", "mfa_list_webauthn"}  # other names of visited URLs


@pytest.fixture
def fresh(tmp_path_factory):
    """Sample data of its own, because personas prepare their pages once."""
    with start_service(tmp_path_factory.mktemp("service")) as service, create_sample_data(service) as data:
        yield data


@pytest.mark.timeout(400)  # it prepares the pages of all personas
def test_every_url_has_a_page_state(fresh, browser):
    named = {each.name for route, each in routes() if each.name and is_page(route, rule_of(each.callback))}
    visited = set()
    for persona in PERSONAS.values():
        with on(browser, persona, fresh) as (_, states):
            visited |= {name_of(each.path) for each in states}

    assert named - visited - NO_PAGES - REACHED_BY_ACTIONS - SECOND_NAMES == set()


def is_page(route, rule):
    """Return whether a URL is viewed by people, outside of the administration."""
    return rule.readers not in {None, Who.KEY} and not route.startswith("admin/") and FILES not in route


def name_of(path):
    try:
        return resolve(path.partition("?")[0]).url_name
    except Resolver404:
        return ""
