"""What every list of the dashboard has: tabs with counts, search and chips, saved views, a page of rows, and totals.

A list is declared by a `ListSpec`. Its filter provides the rows (`dashboard.ui.lists.list_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from dashboard.memberships import Membership
from dashboard.ui.components.chips import ChipSpec, filter_bar
from dashboard.ui.lists import news
from dashboard.ui.lists.bounded_totals import Count, ListTotals
from dashboard.ui.lists.list_counts import PAGES_BEFORE, SHOWN, counts_of
from dashboard.ui.lists.list_filters import ListFilter
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.pagination import BY_ID, SIZE, SORT, Order, Page, page_of, sort_of
from dashboard.ui.lists.saved_views import views_of
from dashboard.ui.lists.tabs import TabSpec, tabs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSpec:
    """What differs between lists."""

    name: str  # of its saved views
    names: tuple[str, str]  # of its rows, singular and plural
    export: str = ""  # the name of the URL
    tabs: Sequence[TabSpec] = ()
    chips: Sequence[ChipSpec] = ()
    order: Order = BY_ID
    size: int = SIZE
    has_news: bool = False  # its page says how many rows are new; its view uses `list_response`

    @property
    def kept(self) -> list[str]:
        """Return the parameters that stay when all filters are cleared."""
        return [SORT, *(name for tab in self.tabs for name in tab.sets)]


def list_response(
    request: HttpRequest,
    template: str,
    listed: ListSpec,
    form: ListFilter,
    rows: ListRows,
    *,
    membership: Membership,
    further: Callable[[dict[str, Any]], dict[str, Any]] = lambda _: {},
) -> HttpResponse:
    """Return a list's page, or how many rows it has gained if that is asked. `further` adds to the page's context."""
    if listed.has_news and news.is_question(request):
        return news.answer(listed, form, rows, request.GET)
    context = list_context(listed, form, rows, membership=membership, query=request.GET)
    return render(request, template, context | further(context))


def list_context(
    listed: ListSpec, form: ListFilter, rows: ListRows, *, membership: Membership, query: QueryDict
) -> dict[str, Any]:
    """Return the context of a list's page. An invalid filter finds nothing; the page shows its errors."""
    is_valid = form.is_valid()
    context = {
        "membership": membership,
        "form": form,
        "export": listed.export,
        "bar": filter_bar(form, listed.chips, query, keeps=listed.kept),
        "sort": sort_of(query),
        "views": views_of(membership.member, listed.name, query),
    }
    if not is_valid:
        return context | {"page": page_of([], query), "tabs": tabs_of(listed.tabs, query, {})}
    scanned = rows.indexed() if rows.is_scan() else None
    page = page_of(rows.sources(), query, order=listed.order, size=listed.size, scanned=scanned)
    counts = counts_of(rows, page, listed.tabs, order=listed.order, query=query)
    return context | {
        "page": page,
        "news": news.question_of(page, query, order=listed.order)
        if listed.has_news and scanned is None
        else "",
        "tabs": tabs_of(listed.tabs, query, counts),
        "totals": _totals(rows, page, counts, names=listed.names),
    }


def _totals(
    rows: ListRows, page: Page[Any], counts: Mapping[str, Count], *, names: tuple[str, str]
) -> ListTotals:
    """Return what is written below a list. Only exact counts have a position and sums."""
    singular, plural = names
    shown, before = counts[SHOWN], counts.get(PAGES_BEFORE, Count(0))
    return ListTotals(
        shown=len(page.rows),
        newer=before.number if shown.is_exact and before.is_exact else None,
        count=shown,
        noun=plural,
        singular=singular,
        sums=rows.sums() if shown.is_exact and shown.number else (),
        sums_are=rows.sums_are,
    )
