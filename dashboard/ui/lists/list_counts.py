"""Counts of a list: its rows, those of each tab, and those on the pages before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.http import QueryDict

from dashboard.ui.lists.bounded_totals import Count, count_each
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.pagination import NEWER, OLDER, Order, Page, scan_limit, sort_of
from dashboard.ui.lists.tabs import TabSpec

# Parts of the counts that are no tabs.
SHOWN, PAGES_BEFORE = "shown", "pages before"


def counts_of(
    rows: ListRows, page: Page[Any], tabs: Iterable[TabSpec], *, order: Order, query: QueryDict
) -> dict[str, Count]:
    """Count each tab with the other filters, the rows of this list, and those on the pages before this one.

    Rows are counted up to a limit. Conditions without an index are counted among the newest rows only, so that few
    matches don't cause a long scan.
    """
    tabs = list(tabs)
    cleared = {name: "" for tab in tabs for name in tab.sets}
    wanted: dict[str, dict[str, str]] = {tab.name: {**cleared, **tab.sets} for tab in tabs}
    # The tab that is shown is counted once.
    shown = next((name for name, each in wanted.items() if _is_here(each, query)), SHOWN)
    wanted.setdefault(shown, {})
    parts = {name: list(rows.sources(**each)) for name, each in wanted.items()}
    if page.rows and (query.get(OLDER) or query.get(NEWER)):
        earlier = order.beyond(order.position(page.rows[0]), is_older=sort_of(query).is_oldest_first)
        parts[PAGES_BEFORE] = [source.filter(earlier) for source in parts[shown]]
    bounded = {name for name, each in wanted.items() if rows.is_scan(**each)}
    limit = scan_limit(rows.newest(), order) if bounded else None
    if limit is None:
        bounded = set()
    else:
        if shown in bounded and PAGES_BEFORE in parts:
            bounded.add(PAGES_BEFORE)
        among_newest = order.within(order.position(limit), is_older=True)
        for name in bounded:
            parts[name] = [source.filter(among_newest) for source in parts[name]]
    counts = count_each(parts, are_disjoint=rows.are_disjoint)
    counts |= {name: replace(counts[name], is_exact=False) for name in bounded}
    return counts | {SHOWN: counts[shown]}


def _is_here(values: dict[str, str], query: QueryDict) -> bool:
    return all(query.get(name, "") == value for name, value in values.items())
