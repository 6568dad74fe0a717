"""How many rows a list has gained since its page was opened. Pages in visible tabs ask (`static/js/news.js`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse, QueryDict

from dashboard.ui.addresses import encoded
from dashboard.ui.lists.list_filters import ListFilter
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.pagination import NEWER, OLDER, SORT, Order, Page
from kit.text.plurals import counted

if TYPE_CHECKING:
    from dashboard.ui.lists.lists import ListSpec

MOST = 99  # rows that are counted


def is_question(request: HttpRequest) -> bool:
    """Return whether a page asks for the number of new rows, instead of for the list."""
    return request.headers.get("X-News") == "true"


def question_of(page: Page[Any], query: QueryDict, *, order: Order) -> str:
    """Return the address that a page asks; empty if nothing new would appear on it, as on older pages."""
    if not page.rows or any(name in query for name in (NEWER, OLDER, SORT)):
        return ""
    asked = query.copy()
    asked[NEWER] = order.write(page.rows[0])
    return f"?{encoded(asked, keeps_search=True)}"


def answer(listed: ListSpec, form: ListFilter, rows: ListRows, query: QueryDict) -> HttpResponse:
    """Return what the link to new rows says, as text; empty if there are none. Reads keys only."""
    number = 0 if not form.is_valid() or rows.is_scan() else _newer(rows, query, listed.order)
    return HttpResponse(_words(number, listed.names), content_type="text/plain; charset=utf-8")


def _newer(rows: ListRows, query: QueryDict, order: Order) -> int:
    try:
        position = order.read(query.get(NEWER, ""))
    except (ValueError, OverflowError):
        return 0
    beyond = order.beyond(position, is_older=False)
    ordering = order.ordering(is_older=False)
    found: set[Any] = set()
    for source in rows.sources():
        keys = source.filter(beyond).select_related(None).order_by(*ordering).values_list("pk", flat=True)
        found.update(keys[: MOST + 1])
    return len(found)


def _words(number: int, names: tuple[str, str]) -> str:
    """Return the words of a number of new rows.

    >>> _words(3, ("payment", "payments")), _words(1, ("delivery", "deliveries")), _words(120, ("payment", "payments"))
    ('3 new payments, show', '1 new delivery, show', '99+ new payments, show')
    """
    if not number:
        return ""
    singular, plural = (f"new {each}" for each in names)
    return f"{MOST}+ {plural}, show" if number > MOST else f"{counted(number, singular, plural)}, show"
