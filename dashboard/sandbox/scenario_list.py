"""The list of scenarios on the sandbox page: groups by flow, and a search."""

from collections.abc import Sequence
from dataclasses import dataclass

from payments.sandbox.scenarios import Scenario, scenarios

# The flows with their titles, in the order of the page.
FLOWS = {
    "card": "Card payments",
    "virtual_account": "Bank transfers",
    "refund": "Refunds",
    "payout": "Payouts",
    "card_check": "Card checks",
    "dispute": "Disputes",
}
PREFIXES = ("Card payment: ", "Refund: ")


@dataclass(frozen=True, slots=True)
class Group:
    """The scenarios of a flow. A page lists those of open groups, and links to the first one of the others."""

    title: str
    scenarios: Sequence[Scenario]
    is_open: bool

    @property
    def items(self) -> list[tuple[str, Scenario]]:
        """Return the scenarios with titles that don't repeat the group's."""
        return [(_without(PREFIXES, each.title), each) for each in self.scenarios]


def groups(*, search: str, chosen: Scenario) -> list[Group]:
    """Return the scenarios that match every word of a search, by flow. Without a search, the chosen one's flow is open.

    >>> success = scenarios()[0]
    >>> [(group.title, len(group.scenarios)) for group in groups(search="bank 51", chosen=success)]
    [('Payouts', 1)]
    >>> [group.title for group in groups(search="", chosen=success) if group.is_open]
    ['Card payments']
    """
    words = search.casefold().split()
    found = [each for each in scenarios() if all(word in _text(each) for word in words)]
    by_flow = {flow: [each for each in found if each.flow == flow] for flow in FLOWS}
    return [
        Group(FLOWS[flow], listed, is_open=bool(words) or flow == chosen.flow)
        for flow, listed in by_flow.items()
        if listed
    ]


def _text(scenario: Scenario) -> str:
    end = scenario.ends
    event = scenario.event.label if scenario.event else ""
    parts = (scenario.name, scenario.title, FLOWS[scenario.flow], end.status, end.outcome.code, event)
    return " ".join(str(part) for part in parts).casefold()


def _without(prefixes: Sequence[str], text: str) -> str:
    return next((text.removeprefix(each) for each in prefixes if text.startswith(each)), text)
