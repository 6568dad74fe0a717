"""Pages of members about webhooks, developers, team and settings in a real browser: layout and accessibility, in light and dark mode, on desktop and phone."""

import pytest

from tests.browser.page_checks import findings_of
from tests.browser.page_states.business import BUSINESS

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(900),
]  # seconds: the longest persona has about seventy pages


@pytest.mark.parametrize("persona", BUSINESS)
def test_pages_have_no_findings(data, browser, persona):
    assert findings_of(browser, BUSINESS[persona], data) == []
