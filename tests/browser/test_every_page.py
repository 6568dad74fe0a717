"""Every named URL has a page state, which the tests of pages visit."""

import pytest
from django.urls import Resolver404, resolve

from config.access_rules import routes
from tests.browser.page_states import PERSONAS
from tests.browser.page_states.state import on

pytestmark = pytest.mark.e2e

# Named URLs that are not pages: they serve programs, perform an action and redirect, or return a file.
NO_PAGES = {
    "payments", "payment", "capture", "void", "refunds", "virtual-accounts", "virtual-account", "simulate",
    "deactivate", "balance", "banks", "openapi", "postman-collection", "bruno-collection", "bank-transfers", "livez", "readyz", "metrics", "sample",
    "cancel", "refund", "unapplied-transfers", "credit-unapplied", "return-unapplied", "settlements", "settlement",
    "events", "event", "resend-event", "requests", "scenarios", "exams", "exam", "exam-answers", "dashboard-exam-acted", "movements", "resolve-beneficiary", "advance", "bank-payout-returns",
    "dashboard-balance-export",
    "dashboard-payments-export", "dashboard-payouts-export", "dashboard-activity-export",
    "dashboard-settlements-export", "dashboard-deliveries-export", "dashboard-virtual-accounts-export",
    "dashboard-unapplied-export", "dashboard-link-checkouts-export", "dashboard-link-qr-svg", "dashboard-link-qr-png",
    "dashboard-settlement-export", "dashboard-test-event", "dashboard-replay", "dashboard-remove-member",
    "dashboard-withdraw", "dashboard-activate-account", "dashboard-expire-now", "dashboard-retry-now",
    "payment-links", "payment-link", "deactivate-link", "activate-link", "link-checkouts", "payment-checkout",
    "listeners", "poll-listener", "end-listener", "dashboard-settle-now", "favicon", "robots", "security-contact",
    "theme", "pay-by-card", "pay-by-transfer", "end-attempt", "checkout-state", "simulate-payment",
    "switch-business", "dashboard-replay-selected", "dashboard-add-note", "dashboard-save-view", "name", "end-session", "end-other-sessions", "sign-out", "mfa_login_webauthn",
}  # fmt: skip

# Pages that an action leads to, because their address is only known then.
REACHED_BY_ACTIONS = {"dashboard-saved-view"}

SECOND_NAMES = {"account_login", "sign-in", "mfa_list_webauthn"}  # other names of visited URLs


def test_every_url_has_a_page_state(data, browser):
    named = {each.name for route, each in routes() if each.name and not route.startswith("admin/")}
    visited = set()
    for persona in PERSONAS.values():
        with on(browser, persona, data) as (_, states):
            visited |= {name_of(each.path) for each in states}

    assert named - visited - NO_PAGES - REACHED_BY_ACTIONS - SECOND_NAMES == set()


def name_of(path):
    try:
        return resolve(path.partition("?")[0]).url_name
    except Resolver404:
        return ""
