"""Each export reads a whole list: a person may have a few a minute."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings

from merchants import rate_limits

EXPORTS = [
    "/dashboard/payments/export.csv",
    "/dashboard/payouts/export.csv",
    "/dashboard/activity/export.csv",
    "/dashboard/balance/export.csv",
]


@pytest.fixture
def moments(monkeypatch):
    """Let the limit's clock stand, until the test moves it."""
    clock = SimpleNamespace(now=1_800_000_000.0)
    monkeypatch.setattr(rate_limits, "time", SimpleNamespace(time=lambda: clock.now))
    return clock


@pytest.mark.django_db
@pytest.mark.parametrize("address", EXPORTS)
class TestLimit:
    def test_refuses_a_person_who_exports_too_often(self, browser, other_browser, moments, address):
        answers = [browser.get(address).status_code for _ in range(rate_limits.EXPORTS + 1)]

        assert answers == [200] * rate_limits.EXPORTS + [429]
        assert "Too many tries" in browser.get(EXPORTS[0]).content.decode()
        assert other_browser.get(address).status_code == 200
        moments.now += rate_limits.EXPORT_WINDOW
        assert browser.get(address).status_code == 200


class TestStreams:
    def test_are_all_limited(self):
        """Answers of any length are made in modules that count them."""
        packages = ("config", "dashboard", "ledger", "merchants", "payments", "virtual_accounts", "webhooks")
        sources = [path for name in packages for path in Path(settings.BASE_DIR, name).rglob("*.py")]
        streaming = {
            path.name: path.read_text() for path in sources if "StreamingHttpResponse(" in path.read_text()
        }

        assert set(streaming) == {"exports.py", "batches.py"}
        assert all("may_export(" in source for source in streaming.values())
