"""What every page of a payment link asks of a request: its origin, its address, and how often it comes."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt  # noqa: TID251  (no session; the origin is checked here)
from django.views.decorators.debug import sensitive_post_parameters

from kit.ip_networks import network_of
from kit.text.exception_summaries import summary_of
from merchants.api.rate_limits import is_within
from merchants.people.access import NO_ACCOUNT, Limit, V, Who, open_to
from merchants.people.request_actors import client_address
from payments.metrics import CHECKOUT_REFUSALS
from payments.pages.ending import Ending

VIEWS, UNKNOWN, STATES = (
    600,
    30,
    30,
)  # a minute: pages of an address, its wrong addresses, states of a checkout
OWN_ORIGIN = {"same-origin", "none"}
TOO_MANY = Ending("warning", "Too many requests", "Wait a minute, then load this page again.")
FAILED_FOR = 5  # seconds
FAILED = Ending(
    "warning",
    "This page is not available at the moment",
    "Wait a few seconds, then load the payment page again. It shows whether anything was paid.",
)
FOREIGN = Ending(
    "warning", "This form came from another site", "Open the payment page again and start from there."
)

payer_view = open_to(Who.PAYER, limits=(Limit.PAYER_VIEWS,))


def payer_form(action: str, *limits: Limit, readers: Who | None = Who.PAYER) -> Callable[[V], V]:
    """Declare that payers submit a form to a view: on its own page, or without readers, on another one."""
    return open_to(
        readers,
        writers=Who.PAYER,
        action=action,
        never_asks=NO_ACCOUNT,
        limits=(Limit.PAYER_VIEWS, *limits),
    )


PageView = Callable[..., HttpResponse]

log = structlog.get_logger("sluice.links")


class SeeOther(HttpResponseRedirect):
    """303, so that the browser gets the next page instead of posting the form again."""

    status_code = HTTPStatus.SEE_OTHER


def payer_page(view: PageView, *, is_counted: bool = True) -> PageView:
    """Wrap a page of a payment link: uncached, without a session, and limited per address.

    `is_counted` says whether the view counts towards the limit of its address.
    """

    @csrf_exempt
    @never_cache
    @sensitive_post_parameters()
    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_counted and not _is_within("views", "payer-pages", network(request), most=VIEWS):
            return notice(request, TOO_MANY, status=HTTPStatus.TOO_MANY_REQUESTS, retry_after=60)
        if request.method == "POST" and not is_from_own_page(request):
            return notice(request, FOREIGN, status=HTTPStatus.FORBIDDEN)
        return _answer(view, request, *args, **kwargs)

    return page


def _answer(view: PageView, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    """Return the page. If it fails, ask the payer to load it again, because an attempt may have begun.

    The exception doesn't reach Django, which would log its message: a connector's may hold the card.
    """
    try:
        return view(request, *args, **kwargs)
    except (Http404, BadRequest, SuspiciousOperation, MultiPartParserError, UnreadablePostError):
        raise
    except Exception as error:  # noqa: BLE001  (every failure is answered alike)
        log.error("payment page failed", **summary_of(error))  # noqa: TRY400  (without its message)
        return notice(request, FAILED, status=HTTPStatus.SERVICE_UNAVAILABLE, retry_after=FAILED_FOR)


def is_from_own_page(request: HttpRequest) -> bool:
    """Return whether a form was sent by our page. Programs send nothing.

    Browsers without fetch metadata name the origin, or "null" from our pages, whose referrer policy hides it.
    """
    if site := request.headers.get("Sec-Fetch-Site"):
        return site in OWN_ORIGIN
    own = f"{request.scheme}://{request.get_host()}"
    return request.headers.get("Origin", own) in {own, "null"}


def is_browser(request: HttpRequest) -> bool:
    """Return whether a browser asks, not a program that follows redirects to the merchant.

    Browsers hold form-action against every redirect after a form, and a merchant may redirect on to other hosts. So a
    page of ours leads them there; a program gets 303.
    """
    return "text/html" in request.headers.get("Accept", "")


def unknown_address(request: HttpRequest) -> HttpResponse:
    """Return the page for an unknown slug or token. Guessing is limited per address."""
    if not _is_within("unknown_addresses", "payer-guesses", network(request), most=UNKNOWN):
        return notice(request, TOO_MANY, status=HTTPStatus.TOO_MANY_REQUESTS, retry_after=60)
    return render(request, "404.html", status=HTTPStatus.NOT_FOUND)


def may_ask_state(token: str) -> bool:
    """Return whether the state of a checkout may be asked again within this minute."""
    return _is_within("states", "payer-states", token, most=STATES)


def _is_within(rule: str, counter: str, subject: str, *, most: int) -> bool:
    """Return whether a subject is within a limit a minute. A refusal is counted by its rule."""
    allowed = is_within(counter, subject, most=most)
    if not allowed:
        CHECKOUT_REFUSALS.labels(rule).inc()
    return allowed


def notice(
    request: HttpRequest, ending: Ending, *, status: int, retry_after: int = 0, **context: Any
) -> HttpResponse:
    """Return a page that says why nothing can be done here."""
    response = render(
        request,
        "payments/notice.html",
        {
            "ending": ending,
            "page": _page_of(request),
            "host": urlsplit(settings.PUBLIC_URL).netloc,
            "is_sandbox": settings.SANDBOX,
            **context,
        },
        status=status,
    )
    if retry_after:
        response.headers["Retry-After"] = str(retry_after)
    return response


def _page_of(request: HttpRequest) -> str:
    """Return the address of the page that a form belongs to: that of a link or checkout."""
    return "/".join(request.path.split("/")[:3])


def network(request: HttpRequest) -> str:
    """Return the payer's IPv4 address, or the /64 of an IPv6 address."""
    return network_of(client_address(request))
