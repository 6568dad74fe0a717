"""Tabs above a list: links that set one or more filters and keep the others. Drawn by `components/tabs.html`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.http import QueryDict

from dashboard.ui.components.chips import address_with
from dashboard.ui.lists.bounded_totals import Count


@dataclass(frozen=True, slots=True)
class TabSpec:
    """A tab of a list, and the parameters that it sets."""

    name: str  # of its count
    label: str
    sets: Mapping[str, str]
    hint: str = ""  # what its rows have in common, if the label doesn't say it


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab as a page shows it, with the number of rows behind it; None if they aren't counted."""

    name: str
    address: str
    count: Count | int | None = None
    is_here: bool = False
    hint: str = ""

    @property
    def shown_count(self) -> str:
        return f"{self.count:,}" if isinstance(self.count, int) else str(self.count or "")


def tabs_of(specs: Iterable[TabSpec], query: QueryDict, counts: Mapping[str, Count]) -> list[Tab]:
    """Return the tabs of a list. A tab clears the parameters that only other tabs set."""
    specs = list(specs)
    parameters = {name for spec in specs for name in spec.sets}
    here = {name: query.get(name, "") for name in parameters}
    return [
        Tab(
            name=spec.label,
            address=address_with(query, **{name: spec.sets.get(name, "") for name in parameters}),
            count=counts.get(spec.name),
            is_here=all(spec.sets.get(name, "") == value for name, value in here.items()),
            hint=spec.hint,
        )
        for spec in specs
    ]
