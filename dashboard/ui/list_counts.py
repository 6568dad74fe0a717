"""Counts of a list: its rows, those of each tab, and those on the pages before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict

from dashboard.ui.list_rows import ListRows
from dashboard.ui.list_totals import Count, count_each
from dashboard.ui.pagination import NEWER, OLDER, Order, Page, scan_limit, sort_of
from dashboard.ui.tabs import TabSpec

# Parts of the counts that are no tabs.
SHOWN, PAGES_BEFORE = "shown", "pages before"


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a list, and whether its rows were counted, or their number is known otherwise."""

    by_part: Mapping[str, Count]
    are_counted: bool


def counts_of(
    rows: ListRows, page: Page[Any], tabs: Iterable[TabSpec], *, order: Order, query: QueryDict
) -> Counts:
    """Count each tab with the other filters, the rows of this list, and those on the pages before this one."""
    tabs = list(tabs)
    cleared = {name: "" for tab in tabs for name in tab.sets}
    wanted: dict[str, dict[str, str]] = {tab.name: {**cleared, **tab.sets} for tab in tabs} | {SHOWN: {}}
    counts = _counted_rows(rows, page, wanted, order=order, query=query)
    unknown = [name for name in wanted if not counts[name].is_exact]
    known = {name: rows.known_count(**wanted[name]) for name in unknown}
    counts |= {name: count for name, count in known.items() if count is not None}
    return Counts(counts, are_counted=known.get(SHOWN) is None)


def _counted_rows(
    rows: ListRows,
    page: Page[Any],
    wanted: Mapping[str, dict[str, str]],
    *,
    order: Order,
    query: QueryDict,
) -> dict[str, Count]:
    """Count rows up to a limit.

    Conditions without an index are counted among the newest rows only, so that few matches don't cause a long scan. What
    is known otherwise isn't counted then.
    """
    parts = {name: list(rows.sources(**each)) for name, each in wanted.items()}
    if page.rows and (query.get(OLDER) or query.get(NEWER)):
        earlier = order.beyond(order.position(page.rows[0]), is_older=sort_of(query).is_oldest_first)
        parts[PAGES_BEFORE] = [source.filter(earlier) for source in parts[SHOWN]]
    bounded = {name for name, each in wanted.items() if rows.is_scan(**each)}
    limit = scan_limit(rows.newest(), order) if bounded else None
    if limit is None:
        return count_each(parts)
    if SHOWN in bounded and PAGES_BEFORE in parts:
        bounded.add(PAGES_BEFORE)
    among_newest = order.within(order.position(limit), is_older=True)
    known = {name for name in bounded & wanted.keys() if rows.known_count(**wanted[name]) is not None}
    for name in bounded - known:
        parts[name] = [source.filter(among_newest) for source in parts[name]]
    counts = count_each({name: part for name, part in parts.items() if name not in known})
    return {
        **{
            name: replace(each, is_exact=each.is_exact and name not in bounded)
            for name, each in counts.items()
        },
        **dict.fromkeys(known, Count(0, is_exact=False)),
    }
