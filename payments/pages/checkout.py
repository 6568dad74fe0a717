"""The pages of a checkout: pay by card or transfer, wait, and the receipt.

The address holds the payer's credential. Each page is the state of the checkout at this moment; every POST answers
303, or says why nothing can be done.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial, wraps
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kit.colours import is_ground
from kit.db import clock
from merchants.models import Logo
from merchants.people.access import Limit, public_page
from payments.models import Checkout, InvalidState, PaymentLink, Transaction
from payments.pages.card_form import CardForm, read_card
from payments.pages.decline_reasons import fields_of, reason_for_payer, title_for_payer
from payments.pages.ending import Ending
from payments.pages.links import link_notices
from payments.pages.links.return_addresses import return_address
from payments.pages.payer_requests import (
    PageView,
    SeeOther,
    is_browser,
    may_ask_state,
    notice,
    payer_form,
    payer_page,
    payer_view,
    unknown_address,
)
from payments.pages.refused_forms import refuse, refused_form
from payments.rails import RailUnavailable
from payments.rails.protocol import ActionKind
from payments.representation.payments import challenge_address
from payments.sandbox.sandbox_guide import payer_test_cards
from payments.sandbox.simulated_transfers import simulated_notice
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkout_limits import CardRests, LimitReached
from payments.services.fee_rules import NoPrice
from payments.services.links.link_uses import (
    AddressHoldsTooMany,
    AnotherAttempt,
    AttemptNotBegun,
    CheckoutClosed,
)
from payments.services.transfers import incoming

RECEIPT_LIFETIME = timedelta(days=180)
CARD, TRANSFER = "card", "virtual_account"
ONWARD = "onward"  # in the query of the checkout: the payer goes on to the page of a provider or bank
RESTS_UNTIL = "rests_until"  # among the errors of a refused form: the time until which no card is accepted
KEPT_BY_BROWSERS = "public, max-age=31536000, immutable"
State, Awaiting = Checkout.State, Transaction.Awaiting

UNAVAILABLE = Ending(
    "warning", "This way to pay is not available at the moment", "Try again later, or pay another way."
)
HOLDS_TOO_MANY = Ending(
    "warning",
    "Too many payments were begun from your connection",
    "If you have begun one, continue or end it. Otherwise try again later.",
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A checkout as it is at this moment."""

    checkout: Checkout
    attempts: list[Transaction]
    state: Checkout.State
    now: datetime

    @property
    def link(self) -> PaymentLink:
        return self.checkout.link

    @property
    def last(self) -> Transaction | None:
        """Return the last attempt, which is the one that is pending or has succeeded, if any."""
        return self.attempts[-1] if self.attempts else None

    @property
    def address(self) -> str:
        return reverse("checkout", args=[self.checkout.token])


def find(token: str) -> Seen | None:
    checkout = checkouts.find_by_token(token)
    if checkout is None:
        return None
    attempts, now = checkouts.attempts_of(checkout), clock.now()
    state = checkout.state_of([attempt.status for attempt in attempts], now=now)
    return Seen(checkout, attempts, state, now)


def on_checkout(view: Callable[[HttpRequest, Seen], HttpResponse], *, is_counted: bool = True) -> PageView:
    """Wrap a page of a checkout, which gets the checkout of its token as it is at this moment."""

    @partial(payer_page, is_counted=is_counted)
    @wraps(view)
    def page(request: HttpRequest, token: str) -> HttpResponse:
        seen = find(token)
        return unknown_address(request) if seen is None else view(request, seen)

    return page


@payer_view
@require_safe
@on_checkout
def checkout_page(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Show the checkout's present state. A paid one leads to the merchant or the receipt."""
    if seen.state == State.PAID:
        return _paid(request, seen)
    if seen.state == State.PAYING:
        return _paying(request, seen)
    if seen.state == State.CLOSED:
        return _show(request, "closed", seen, **_why_it_failed(seen.last))
    return _open(request, seen)


@payer_form("pay by card", Limit.DECLINES, readers=None)
@require_POST
@on_checkout
def card(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Begin an attempt by card, which the payer enters here or on the provider's page."""
    if seen.state != State.OPEN:
        return SeeOther(seen.address)
    form, pay = CardForm(), checkouts.pay_on_hosted_page
    if not checkouts.card_page_of(seen.link):
        form, given = read_card(request.POST, now=seen.now)
        if given is None:
            return _refuse_card(seen, form)
        pay = partial(checkouts.pay_by_card, card=given)
    try:
        payment = pay(checkout=seen.checkout, attempt_number=_attempt_number(request), now=seen.now)
    except CardRests:
        form.errors["number"] = "Use another card."
        return _refuse_card(seen, form)
    except LimitReached as limit:
        return _cards_rest(seen, limit)
    except (AttemptNotBegun, RailUnavailable, NoPrice) as refused:
        return _not_begun(request, seen, refused)
    return SeeOther(_next_address(request, payment, seen))


@payer_form("get an account number", readers=None)
@require_POST
@on_checkout
def transfer(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Begin an attempt by transfer: show an account number."""
    if seen.state == State.OPEN:
        try:
            checkouts.pay_by_transfer(
                checkout=seen.checkout, attempt_number=_attempt_number(request), now=seen.now
            )
        except (AttemptNotBegun, RailUnavailable, NoPrice) as refused:
            return _not_begun(request, seen, refused)
    return SeeOther(seen.address)


@payer_form("end an attempt to pay")
@require_http_methods(["GET", "HEAD", "POST"])
@on_checkout
def end(request: HttpRequest, seen: Seen) -> HttpResponse:
    """End the pending attempt, so that the payer can pay another way. A transfer's payer is asked first, by GET."""
    pending = seen.last
    if seen.state != State.PAYING or pending is None:
        return SeeOther(seen.address)
    if request.method != "POST":
        return _show(request, "end", seen) if pending.is_transfer_payment else SeeOther(seen.address)
    if pending.is_transfer_payment and request.POST.get("step") != "confirmed":
        return SeeOther(request.path)
    with suppress(InvalidState):  # it has just finished another way: show that
        checkouts.end_attempt(pending)
    return SeeOther(seen.address)


@payer_view
@require_safe
@partial(on_checkout, is_counted=False)  # its own limit is per checkout: many payers share an address
def state(_request: HttpRequest, seen: Seen) -> HttpResponse:
    """Return the checkout's state for the page's script."""
    if not may_ask_state(seen.checkout.token):
        return JsonResponse({}, status=HTTPStatus.TOO_MANY_REQUESTS, headers={"Retry-After": "60"})
    return JsonResponse({"state": str(seen.state)})


@payer_view
@require_safe
@on_checkout
def receipt(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Show the receipt of a paid checkout."""
    if seen.state != State.PAID or seen.last is None:
        return SeeOther(seen.address)
    if seen.last.finished_at is not None and seen.last.finished_at < seen.now - RECEIPT_LIFETIME:
        raise Http404
    return _show(request, "receipt", seen, payment=seen.last)


@payer_form("simulate a transfer", readers=None)
@require_POST
@on_checkout
def simulate(_request: HttpRequest, seen: Seen) -> HttpResponse:
    """Simulate the transfer that the page waits for. Sandbox only, and not for a number that a provider opened."""
    session = seen.last.session if seen.last is not None else None
    if not settings.SANDBOX or (session is not None and session.provider_account):
        raise Http404
    if seen.state == State.PAYING and session is not None:
        transfer_of = {"account_number": session.number_id, "amount": session.expected_amount}
        incoming.receive(simulated_notice(transfer_of), owner=seen.link.business)
    return SeeOther(seen.address)


@public_page
@require_safe
def theme(_request: HttpRequest, colour: str) -> HttpResponse:
    """Return the merchant's colour as a stylesheet of our own origin, because nothing is inline."""
    if not is_ground(f"#{colour}"):
        raise Http404
    return HttpResponse(
        f":root {{ --brand: #{colour}; }}\n",
        content_type="text/css; charset=utf-8",
        headers={"Cache-Control": KEPT_BY_BROWSERS},
    )


@public_page
@require_safe
def logo(_request: HttpRequest, logo_id: UUID) -> HttpResponse:
    """Return the merchant's logo, with the type that its content has. An address never gets another image."""
    found = get_object_or_404(Logo, pk=logo_id)
    return HttpResponse(
        bytes(found.content), content_type=found.media_type, headers={"Cache-Control": KEPT_BY_BROWSERS}
    )


def _paid(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Lead the payer to the merchant's page, a browser by a page of ours, or redirect to the receipt."""
    if seen.link.redirect_url and is_browser(request):
        return _show(request, "return", seen)
    return SeeOther(_after_success(seen))


def _after_success(seen: Seen) -> str:
    """Return where the payer goes after success: the merchant's page, or the receipt."""
    return return_address(seen.link, seen.last) or reverse("receipt", args=[seen.checkout.token])


def _next_address(request: HttpRequest, payment: Transaction, seen: Seen) -> str:
    """Return where the payer goes after an attempt by card: to the bank, to the end, or back to the checkout."""
    if payment.awaiting == Awaiting.PAYER:
        is_redirect = payment.challenge.kind == ActionKind.REDIRECT
        # A page leads there, because browsers hold form-action against every redirect after a form.
        leads_on = is_redirect and is_browser(request)
        return f"{seen.address}?{ONWARD}" if leads_on else challenge_address(payment.challenge.token)
    if payment.status == Transaction.Status.SUCCESS and not (seen.link.redirect_url and is_browser(request)):
        return _after_success(Seen(seen.checkout, [*seen.attempts, payment], State.PAID, seen.now))
    return seen.address


def _refuse_card(seen: Seen, form: CardForm) -> HttpResponse:
    return refuse(seen.address, entries=form.entries(), errors=form.errors, method=CARD)


def _cards_rest(seen: Seen, limit: LimitReached) -> HttpResponse:
    """Say until when no card is accepted. Transfers are."""
    until = link_notices.clock_time(limit.until, seen.link)
    return refuse(seen.address, entries={}, errors={RESTS_UNTIL: until}, method=TRANSFER)


def _attempt_number(request: HttpRequest) -> int:
    """Return how many attempts the payer's form knew of; -1 if it doesn't say so."""
    text = request.POST.get("attempt", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 2 else -1  # noqa: PLR2004


def _paying(request: HttpRequest, seen: Seen) -> HttpResponse:
    payment = seen.last
    if payment is None:
        return _show(request, "outcome_unknown", seen)
    if payment.is_transfer_payment:
        return _transfer(request, seen, payment)
    if payment.awaiting == Awaiting.PAYER:
        address = challenge_address(payment.challenge.token)
        return _show(
            request,
            "challenge",
            seen,
            payment=payment,
            challenge_address=address,
            onward=address if ONWARD in request.GET else "",
            card_page=checkouts.card_page_of(seen.link) if payment.has_unknown_card else "",
        )
    return _show(request, "outcome_unknown", seen, payment=payment)


def _transfer(request: HttpRequest, seen: Seen, payment: Transaction) -> HttpResponse:
    session = payment.session
    left = (session.expires_at - seen.now).total_seconds() if session is not None else 0
    return _show(
        request, "transfer", seen, payment=payment, session=session, seconds_left=max(int(left) + 1, 0)
    )


def _open(request: HttpRequest, seen: Seen) -> HttpResponse:
    methods = checkouts.methods_of(seen.link, seen.checkout.amount)
    if not methods:
        return _notice(request, seen, **link_notices.no_method(seen.link, seen.checkout.amount))
    last = seen.last
    wanted = request.GET.get("method") or (last.method if last is not None else seen.checkout.method)
    refused = refused_form(request)
    entries, errors = refused or ({"name": seen.checkout.name}, {})
    declined = fields_of(last) if last is not None and refused is None else {}
    chosen = wanted if wanted in methods else methods[0]
    card_page = checkouts.card_page_of(seen.link)
    by_card = "hosted" if card_page else "card"
    return _show(
        request,
        by_card if chosen == CARD else "choose_transfer",
        seen,
        card_page=card_page,
        methods=methods,
        chosen=chosen,
        rests_until=errors.pop(RESTS_UNTIL, ""),
        form=CardForm(**entries, errors=errors),
        field_errors=errors or declined,
        is_lost=refused == ({}, {}),
        **_why_it_failed(last if refused is None else None),
        test_cards=payer_test_cards() if settings.SANDBOX else (),
    )


def _why_it_failed(failed: Transaction | None) -> dict[str, Any]:
    """Return what a page says about the last attempt, which failed, if there was one."""
    if failed is None:
        return {"failed": None, "failure": ""}
    return {
        "failed": failed,
        "failure": reason_for_payer(failed),
        "failure_title": title_for_payer(failed),
    }


def _not_begun(request: HttpRequest, seen: Seen, refused: Exception) -> HttpResponse:
    """Answer an attempt that couldn't begin: with the present state, or with why."""
    if isinstance(refused, AnotherAttempt | CheckoutClosed):
        return SeeOther(seen.address)
    if isinstance(refused, AddressHoldsTooMany):
        return _notice(request, seen, HOLDS_TOO_MANY, status=HTTPStatus.CONFLICT, may_continue=True)
    if isinstance(refused, RailUnavailable | NoPrice):
        return _notice(request, seen, UNAVAILABLE, status=HTTPStatus.SERVICE_UNAVAILABLE, retry_after=300)
    seen.link.refresh_from_db()
    why = link_notices.not_payable(seen.link, now=seen.now)
    if why is None:
        return _notice(
            request, seen, link_notices.all_held(seen.link, now=seen.now), status=HTTPStatus.CONFLICT
        )
    return notice(request, why.ending, status=why.status, **why.context(seen.link))


def _notice(request: HttpRequest, seen: Seen, ending: Ending, **options: Any) -> HttpResponse:
    return notice(request, ending, checkout=seen.checkout, **link_notices.shown(seen.link), **options)


def _show(request: HttpRequest, page: str, seen: Seen, **context: Any) -> HttpResponse:
    return render(
        request,
        f"payments/checkout/{page}.html",
        {
            **link_notices.shown(seen.link),
            "checkout": seen.checkout,
            "attempt": len(seen.attempts),
            "return_address": return_address(seen.link, seen.last),
            "pays": seen.state in {State.OPEN, State.PAYING},
            "now": seen.now,
            **context,
        },
    )
