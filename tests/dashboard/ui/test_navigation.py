"""The navigation has the areas of the specification in order, and marks the current one."""

import pytest

from dashboard.ui import navigation
from dashboard.ui.navigation import ACCOUNT, AREAS


class TestAreas:
    def test_are_those_of_the_contract(self):
        assert [area.name for area in AREAS] == [
            "Overview",
            "Payments",
            "Payment links",
            "Payouts",
            "Virtual accounts",
            "Settlements",
            "Balance",
            "Disputes",
            "Webhooks",
            "Developers",
            "Sandbox",
            "Team",
            "Settings",
        ]


class TestLinks:
    def test_link_to_existing_pages_only(self):
        assert all(link.address for link in navigation.links(AREAS, "/dashboard/"))

    @pytest.mark.parametrize(
        ("path", "names"),
        [
            ("/dashboard/", ["Overview"]),
            ("/dashboard/payments/new/", ["Payments"]),
            ("/dashboard/refunds/00000000-0000-0000-0000-000000000001/", ["Payments"]),
            ("/dashboard/search/", []),
        ],
    )
    def test_mark_the_area_of_a_page(self, path, names):
        assert [link.name for link in navigation.links(AREAS, path) if link.is_here] == names

    def test_mark_none_for_account_pages(self):
        assert not any(link.is_here for link in navigation.links(AREAS, "/dashboard/account/password/"))
        assert [link.name for link in navigation.links(ACCOUNT, "/dashboard/account/") if link.is_here] == [
            "Your account"
        ]
