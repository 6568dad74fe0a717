"""Each export reads a whole list, so exports are limited per user."""

from pathlib import Path

import pytest
from django.conf import settings

from merchants import rate_limits

EXPORTS = [
    "/dashboard/payments/export.csv",
    "/dashboard/payouts/export.csv",
    "/dashboard/activity/export.csv",
    "/dashboard/balance/export.csv",
]


@pytest.mark.django_db
@pytest.mark.parametrize("address", EXPORTS)
class TestLimit:
    def test_rejects_too_many_exports(self, browser, other_browser, limit_clock, address):
        answers = [browser.get(address).status_code for _ in range(rate_limits.EXPORTS + 1)]

        assert answers == [200] * rate_limits.EXPORTS + [429]
        assert "Too many attempts" in browser.get(EXPORTS[0]).content.decode()
        assert other_browser.get(address).status_code == 200
        limit_clock.now += rate_limits.EXPORT_WINDOW
        assert browser.get(address).status_code == 200


class TestStreams:
    def test_are_all_limited(self):
        """Only `merchants.csv_exports` streams, and it counts exports."""
        packages = (
            "config",
            "dashboard",
            "kit",
            "ledger",
            "merchants",
            "payments",
            "virtual_accounts",
            "webhooks",
        )
        sources = [path for name in packages for path in Path(settings.BASE_DIR, name).rglob("*.py")]

        (streaming,) = [path for path in sources if "StreamingHttpResponse(" in path.read_text()]

        assert streaming == Path(settings.BASE_DIR, "merchants/csv_exports.py")
        assert "may_export(" in streaming.read_text()
