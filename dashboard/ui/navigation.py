"""The areas of the dashboard, in the order of the navigation. Areas without a page are left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse

NOTHING_WAITS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Area:
    """An area of the dashboard."""

    name: str
    page: str  # the name of its first page's URL
    icon: str  # of heroicons
    also: str = ""  # the beginning of further pages of the area
    counts: str = ""  # what the number beside its name counts, if it has one

    @property
    def address(self) -> str:
        """Return the path of its first page; empty if there is none."""
        try:
            return reverse(self.page)
        except NoReverseMatch:
            return ""


@dataclass(frozen=True, slots=True)
class Group:
    """Areas under a common heading. The first group has none."""

    name: str
    areas: Sequence[Area]


GROUPS = (
    Group("", (Area("Overview", "overview", "home"),)),
    Group(
        "Money",
        (
            Area("Payments", "dashboard-payments", "credit-card", also="/dashboard/refunds/"),
            Area("Payment links", "dashboard-payment-links", "link"),
            Area("Payouts", "dashboard-payouts", "paper-airplane"),
            Area("Virtual accounts", "dashboard-virtual-accounts", "building-library"),
            Area("Settlements", "dashboard-settlements", "banknotes"),
            Area("Balance", "dashboard-balance", "wallet"),
            Area("Disputes", "dashboard-disputes", "scale", counts="Disputes that need a response"),
        ),
    ),
    Group(
        "Build",
        (
            Area("Webhooks", "dashboard-webhooks", "bolt"),
            Area("Developers", "dashboard-developers", "code-bracket"),
            Area("Sandbox", "dashboard-sandbox", "beaker"),
        ),
    ),
    Group(
        "Business",
        (
            Area("Team", "dashboard-team", "users"),
            Area("Settings", "dashboard-settings", "cog-6-tooth"),
        ),
    ),
)
AREAS = tuple(area for group in GROUPS for area in group.areas)

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
    count: int = 0
    counts: str = ""


def links(areas: Sequence[Area], path: str, *, waiting: Mapping[str, int] = NOTHING_WAITS) -> Sequence[Link]:
    """Return links to the existing areas, marking the one that contains the path. `waiting`: numbers by page."""
    addresses = _addresses()
    return _links(areas, addresses, _here(addresses, path), waiting)


def _links(
    areas: Sequence[Area], addresses: Mapping[Area, str], here: str, waiting: Mapping[str, int]
) -> Sequence[Link]:
    return [
        Link(area.name, address, area.icon, address == here, waiting.get(area.page, 0), area.counts)
        for area in areas
        if (address := addresses[area])
    ]


def _addresses() -> Mapping[Area, str]:
    """Return the address of each area. Finding one is slow, so each is found once for a page."""
    return {area: area.address for area in (*AREAS, *ACCOUNT)}


def _here(addresses: Mapping[Area, str], path: str) -> str:
    """Return the address of the area that contains a page. The overview's address begins all others."""
    further = next((addresses[area] for area in AREAS if area.also and path.startswith(area.also)), None)
    if further is not None:
        return further
    overview = addresses[AREAS[0]]
    containing = [each for each in addresses.values() if each and each != overview and path.startswith(each)]
    return max(containing, key=len, default=overview if path == overview else "")


@dataclass(frozen=True, slots=True)
class LinkGroup:
    """A group as the navigation shows it."""

    name: str
    links: Sequence[Link]


def grouped_links(path: str, *, waiting: Mapping[str, int] = NOTHING_WAITS) -> Sequence[LinkGroup]:
    """Return the navigation: the groups that have pages."""
    addresses = _addresses()
    here = _here(addresses, path)
    groups = [LinkGroup(group.name, _links(group.areas, addresses, here, waiting)) for group in GROUPS]
    return [group for group in groups if group.links]
