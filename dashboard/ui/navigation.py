"""The areas of the dashboard, in the order of the navigation. Areas without a page are left out."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse


@dataclass(frozen=True, slots=True)
class Area:
    """An area of the dashboard."""

    name: str
    page: str  # the name of its first page's URL
    icon: str  # of heroicons

    @property
    def address(self) -> str:
        """Return the path of its first page; empty if there is none."""
        try:
            return reverse(self.page)
        except NoReverseMatch:
            return ""


AREAS = (
    Area("Overview", "overview", "home"),
    Area("Payments", "dashboard-payments", "credit-card"),
    Area("Payouts", "dashboard-payouts", "paper-airplane"),
    Area("Virtual accounts", "dashboard-virtual-accounts", "building-library"),
    Area("Webhooks", "dashboard-webhooks", "bolt"),
    Area("Settlements", "dashboard-settlements", "banknotes"),
    Area("Balance", "dashboard-balance", "wallet"),
    Area("Developers", "dashboard-developers", "code-bracket"),
    Area("Team", "dashboard-team", "users"),
    Area("Sandbox", "dashboard-sandbox", "beaker"),
)

# The links of the user menu.
ACCOUNT = (
    Area("Your account", "mfa_index", "user-circle"),
    Area("Activity", "dashboard-activity", "clock"),
)


@dataclass(frozen=True, slots=True)
class Link:
    """An area as the navigation shows it."""

    name: str
    address: str
    icon: str
    is_here: bool


def links(areas: Sequence[Area], path: str) -> Sequence[Link]:
    """Return links to the existing areas, marking the one that contains the path."""
    existing = [(area, area.address) for area in areas if area.address]
    everywhere = [address for area in (*AREAS, *ACCOUNT) if (address := area.address)]
    here = max((address for address in everywhere if path.startswith(address)), key=len, default="")
    return [Link(area.name, address, area.icon, address == here) for area, address in existing]
