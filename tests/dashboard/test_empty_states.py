"""Every empty list leads to something that can be done in the dashboard, never to a command."""

import re
from html import unescape

import pytest

from tests.addresses import MEMBERS, path_of

pytestmark = pytest.mark.django_db

EMPTY = re.compile(
    r'<p class="empty__name">.*?</p>\s*<p class="empty__more">.*?</p>(?:\s*<div class="buttons">.*?</div>)?',
    re.DOTALL,
)
COMMANDS = ("manage.py", ".venv", "sluice ", "POST /api", "request_type")
PAGES = [path_of(route) for route in MEMBERS if route.startswith("dashboard/") and "<" not in route]


def empty_states(browser):
    """Return what each page of a new business shows in place of rows."""
    answers = {page: browser.get(page) for page in PAGES}
    texts = {
        page: EMPTY.search(answer.content.decode())
        for page, answer in answers.items()
        if answer.status_code == 200 and not answer.streaming
    }
    return {page: unescape(match[0]) for page, match in texts.items() if match}


class TestEmptyStates:
    def test_name_no_command_and_lead_to_the_dashboard_first(self, browser, ada):
        shown = empty_states(browser)

        assert len(shown) > 8
        for page, text in shown.items():
            assert not [word for word in COMMANDS if word in text], page
            first = re.search(r'href="([^"]+)"', text)
            assert first is None or first[1].startswith(("/dashboard/", "?")), page

    def test_of_payments_creates_a_payment_link(self, browser, ada):
        text = empty_states(browser)["/dashboard/payments/"]

        assert text.index("Create payment link") < text.index("Or use the API")
        assert 'href="/dashboard/payment-links/new/"' in text
