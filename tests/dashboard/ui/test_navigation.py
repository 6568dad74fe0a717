"""The navigation: the contract's areas, by name and in order, and which of them one is in."""

import pytest

from dashboard.ui import navigation
from dashboard.ui.navigation import ACCOUNT, AREAS


class TestAreas:
    def test_are_the_contracts(self):
        assert [area.name for area in AREAS] == [
            "Overview",
            "Payments",
            "Payouts",
            "Virtual accounts",
            "Webhooks",
            "Settlements",
            "Balance",
            "Developers",
            "Team",
            "Sandbox",
        ]


class TestLinks:
    def test_lead_only_to_pages_that_exist(self):
        assert all(link.address for link in navigation.links(AREAS, "/dashboard/"))

    @pytest.mark.parametrize("path", ["/dashboard/", "/dashboard/nothing/here"])
    def test_mark_one_area_as_the_one_that_a_page_lies_in(self, path):
        assert [link.name for link in navigation.links(AREAS, path) if link.is_here] == ["Overview"]

    def test_mark_none_for_what_is_ones_own(self):
        assert not any(link.is_here for link in navigation.links(AREAS, "/dashboard/account/password/"))
        assert [link.name for link in navigation.links(ACCOUNT, "/dashboard/account/") if link.is_here] == [
            "Your account"
        ]
