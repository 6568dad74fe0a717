"""Monthly statements for guests: read-only, without a session, and limited per address."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.models import GuestLink
from dashboard.statements import guest_links
from dashboard.statements.guest_links import State
from dashboard.statements.months import Month, usual
from dashboard.statements.statement_page import context_of, file_of
from kit.db import clock
from kit.files.xlsx_files import MOST_ROWS, TooManyRows
from kit.ip_networks import network_of
from merchants import exports
from merchants.api.rate_limits import is_within
from merchants.exports import FileType
from merchants.people.access import Limit, Who, open_to
from merchants.people.request_actors import client_address

VIEWS, UNKNOWN = 60, 30  # a minute: pages of an address, and its wrong addresses

View = Callable[..., HttpResponseBase]


def guest_page(*limits: Limit) -> Callable[[View], View]:
    """Pass the link of a token to a view, if it can still be opened, and count the opening."""

    def decorate(view: View) -> View:
        @open_to(Who.GUEST, limits=(Limit.GUEST_VIEWS, *limits))
        @require_safe
        @never_cache
        @wraps(view)
        def page(request: HttpRequest, token: str, **kwargs: Any) -> HttpResponseBase:
            network, now = network_of(client_address(request)), clock.now()
            if not is_within("guest-pages", network, most=VIEWS):
                return _too_many(request)
            link = guest_links.find(token)
            if link is None:
                is_guessing = not is_within("guest-guesses", network, most=UNKNOWN)
                return _too_many(request) if is_guessing else _ended(request, None)
            state = guest_links.state_of(link, guest_links.makers_of(link.business), now=now)
            if state != State.ACTIVE:
                return _ended(request, link, state=state)
            guest_links.count_opening(link, address=client_address(request), now=now)
            with timezone.override(link.business.zone):
                return view(request, link, **kwargs)

        return page

    return decorate


@guest_page()
def guest_statement(request: HttpRequest, link: GuestLink, month: Month | None = None) -> HttpResponse:
    """Show a month, by default the latest one of the link that is over."""
    months, now = _months(link), clock.now()
    if month is not None and month not in months:
        raise Http404
    shown = month or usual(months, link.business.zone, now=now)
    context = context_of(link.business, shown, months, now=now) | {"link": link}
    return render(request, "dashboard/statements/guest.html", context)


@guest_page(Limit.EXPORT)
def guest_statement_export(
    request: HttpRequest, link: GuestLink, month: Month, file_type: FileType
) -> HttpResponseBase:
    if month not in _months(link):
        raise Http404
    name = f"statement-{month}"
    try:
        return exports.export(
            request, file_of(link.business, month), name=name, file_type=file_type, guest=f"guest-{link.pk}"
        )
    except TooManyRows:
        text = f"An Excel file can have up to {MOST_ROWS:,} rows. Download the CSV file instead."
        return _notice(request, "Too many rows", text, status=HTTPStatus.CONFLICT)
    except exports.AnotherExport:
        return _too_many(request)


def _months(link: GuestLink) -> list[Month]:
    """Return the months of a link, newest first."""
    months, first = [Month.of(link.last_month)], Month.of(link.first_month)
    while months[-1] > first:
        months.append(months[-1].previous)
    return months


ENDINGS = {
    State.EXPIRED: "This link has expired",
    State.REVOKED: "This link was revoked",
    State.ENDED: "This link has ended",
}


def _ended(request: HttpRequest, link: GuestLink | None, *, state: State | None = None) -> HttpResponse:
    if link is None or state is None:
        text = "Check that you have the whole link, or ask for a new one."
        return _notice(request, "There is no statement here", text, status=HTTPStatus.NOT_FOUND)
    text = f"Ask {link.business.name} for a new one."
    return _notice(request, ENDINGS[state], text, status=HTTPStatus.GONE)


def _too_many(request: HttpRequest) -> HttpResponse:
    answer = _notice(
        request,
        "Too many requests",
        "Wait a minute, then load this page again.",
        status=HTTPStatus.TOO_MANY_REQUESTS,
    )
    answer.headers["Retry-After"] = "60"
    return answer


def _notice(request: HttpRequest, heading: str, text: str, *, status: HTTPStatus) -> HttpResponse:
    context = {"heading": heading, "text": text}
    return render(request, "dashboard/statements/guest_notice.html", context, status=status)
