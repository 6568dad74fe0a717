"""The page of a payment link: what is paid for, and the form that begins a checkout.

GET reads only: messengers fetch a link while it is typed. It needs neither JavaScript nor cookies:
without them, a refused form comes back empty.
"""

from datetime import datetime
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from kit.db import clock
from merchants.people.access import Limit
from merchants.people.request_actors import client_address
from payments.models import Checkout, PaymentLink
from payments.models.links import CHECKOUT_LIFETIME
from payments.pages.links import link_notices
from payments.pages.links.link_form import LinkForm
from payments.pages.links.return_addresses import return_address
from payments.pages.payer_requests import SeeOther, network, notice, payer_form, payer_page, unknown_address
from payments.pages.refused_forms import refuse, refused_form
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkout_limits import LimitReached
from payments.services.links import link_counts, links

RESUME = "resume"  # cookie with the token of the payer's last checkout; proves nothing
ROBOTS = ("bot", "crawl", "spider", "preview", "facebookexternalhit", "whatsapp", "slurp", "curl", "python")


@payer_form("begin a payment", Limit.CHECKOUTS)
@require_http_methods(["GET", "HEAD", "POST"])
@payer_page
def link_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the link, or begin a checkout with what the payer entered."""
    link = links.find_by_slug(slug)
    if link is None:
        return unknown_address(request)
    now = clock.now()
    ending = link_notices.not_payable(link, now=now)
    if ending is not None:
        return notice(request, ending.ending, status=ending.status, **ending.context(link))
    total = link.amount if link.quantity_max == 1 else None
    form = LinkForm(link, checkouts.methods_of(link, total))
    if not form.methods:
        return notice(request, **link_notices.no_method(link, total), **link_notices.shown(link))
    if request.method == "POST":
        return _begin(request, link, form, now=now)
    response = _page(request, link, form, now=now)
    if _is_opened_by_a_person(request):
        link_counts.count_view(link.pk, network=network(request), now=now)
    return response


def _begin(request: HttpRequest, link: PaymentLink, form: LinkForm, *, now: datetime) -> HttpResponse:
    if link_notices.is_all_held(link):
        return notice(
            request,
            link_notices.all_held(link, now=now),
            status=HTTPStatus.CONFLICT,
            **link_notices.shown(link),
        )
    form.read(request.POST)
    if form.details is None:
        return refuse(reverse("link", args=[link.slug]), entries=form.entries(), errors=form.errors)
    try:
        checkout = checkouts.begin(
            link=link,
            details=form.details,
            address=client_address(request),
            network=network(request),
            now=now,
        )
    except LimitReached as limit:
        return notice(
            request,
            link_notices.LIMITED,
            status=HTTPStatus.TOO_MANY_REQUESTS,
            retry_after=int((limit.until - now).total_seconds()),
            **link_notices.shown(link),
        )
    response = SeeOther(reverse("checkout", args=[checkout.token]))
    if _is_paying(_resumable(request, link, now=now), now=now):
        return response  # the payment that was begun is the one to continue
    response.set_cookie(
        RESUME,
        checkout.token,
        max_age=CHECKOUT_LIFETIME,
        path=reverse("link", args=[link.slug]),
        secure=not settings.SANDBOX,
        httponly=True,
        samesite="Lax",
    )
    return response


def _page(request: HttpRequest, link: PaymentLink, form: LinkForm, *, now: datetime) -> HttpResponse:
    refused = refused_form(request)
    form.values, form.errors = refused or ({}, {})
    return render(
        request,
        "payments/link.html",
        {
            **link_notices.shown(link),
            "form": form,
            "is_lost": refused == ({}, {}),
            "return_address": return_address(link, None),
            "resumed": _resumable(request, link, now=now),
            "held": link_notices.all_held(link, now=now) if link_notices.is_all_held(link) else None,
        },
    )


def _resumable(request: HttpRequest, link: PaymentLink, *, now: datetime) -> Checkout | None:
    """Return the payer's checkout at this link if it isn't over."""
    token = request.COOKIES.get(RESUME, "")
    checkout = checkouts.find_by_token(token) if token else None
    if checkout is None or checkout.link_id != link.pk:
        return None
    is_open = _state_of(checkout, now=now) in {Checkout.State.OPEN, Checkout.State.PAYING}
    return checkout if is_open else None


def _is_paying(checkout: Checkout | None, *, now: datetime) -> bool:
    """Return whether a checkout has a pending attempt."""
    return checkout is not None and _state_of(checkout, now=now) == Checkout.State.PAYING


def _state_of(checkout: Checkout, *, now: datetime) -> Checkout.State:
    return checkout.state_of([each.status for each in checkouts.attempts_of(checkout)], now=now)


def _is_opened_by_a_person(request: HttpRequest) -> bool:
    """Return whether a GET looks like a person's: no prefetch, no preview and no robot. A hint only."""
    if request.method != "GET" or "prefetch" in request.headers.get("Sec-Purpose", ""):
        return False
    agent = request.headers.get("User-Agent", "").lower()
    return "mozilla" in agent and not any(robot in agent for robot in ROBOTS)
