"""The sandbox page, and actions that make scheduled events happen now."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters

from dashboard.memberships import Membership, members_action, members_form
from dashboard.sandbox import history, page
from dashboard.sandbox.playing import PAYER_PAGE, Exchange, Place, find_place, payer_page, play, title_of
from dashboard.sandbox.scenario_list import groups
from dashboard.transactions.detail.detail_page import address_of, own_transaction
from kit.db import clock
from kit.money.money import money
from kit.text.plurals import counted
from merchants.models import ApiKey, Business
from merchants.people.access import TRIES
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import InvalidState, SettlementBatch, Transaction
from payments.sandbox.scenario_steps import without_real_cards
from payments.services.links import links
from payments.services.sandbox.sandbox_clock import Advanced, advance
from payments.services.sandbox.sandbox_days import DayState, close_day
from payments.services.sandbox.sandbox_events import make_attempt_due
from webhooks.models import Delivery, Endpoint

DEMO_LINK = "demo-link"  # the reference of the link that `manage.py sandbox` creates
NEWEST, SHOWN = 50, 5  # payments of links: looked at for pending ones, and listed
Awaiting = Transaction.Awaiting


ADVANCED = {
    Advanced.CHALLENGE: "3-D Secure expired.",
    Advanced.AUTHORISATION: "Authorisation expired.",
    Advanced.SESSION: "Virtual account session expired.",
    Advanced.QUESTION: "The status was queried.",
    Advanced.APPROVAL: "The time for approval is over.",
    Advanced.SERVER: "Your server was asked.",
    Advanced.RETURN: "The bank returned the payout.",
    Advanced.DISPUTE: "The dispute was advanced.",
    Advanced.WATCH: "The acquirer was queried again.",
}


class StepForm(forms.Form):
    body = forms.CharField(
        max_length=8000,
        strip=False,
        error_messages={
            "required": "Enter the body of the request.",
            "max_length": "Enter 8,000 characters or fewer.",
        },
    )

    def __init__(self, data: Any, *, has_body: bool) -> None:
        super().__init__(data)
        self.fields["body"].required = has_body


@sensitive_post_parameters("body")
@members_form("send a sample request", may=Permission.TRY_FLOWS, shown_to=Permission.VIEW, never_asks=TRIES)
def sandbox_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the scenarios and a step of one of them. Submitting the form plays the step, or all that are left."""
    _require_sandbox()
    business, place = membership.business, find_place(request.GET)
    key = ApiKey.objects.usable(at=clock.now()).filter(business=business, access="full").first()
    context: dict[str, Any] = {"has_key": key is not None}
    text = place.body
    if request.method == "POST" and key is not None:
        place, text, played = _play(request, place, key=key)
        context |= played
    context |= _shown(request, membership, place, text)
    context["steps"] = page.steps_of(place, context.get("exchanges", []))
    return render(request, "dashboard/sandbox/sandbox.html", context)


def _play(request: HttpRequest, place: Place, *, key: ApiKey) -> tuple[Place, str, dict[str, Any]]:
    """Play the submitted step, or all that are left. Return the last one, its body, and what the page shows about it.

    The body stays as it was typed, except for card numbers that aren't test cards.
    """
    form = StepForm(request.POST, has_body=bool(place.body))
    typed = request.POST.get("body", "").replace("\r\n", "\n")
    text = without_real_cards(typed)
    if not form.is_valid():
        return place, text, {"errors": form.errors["body"]}
    to_the_end = request.POST.get("play") == "all"
    exchanges = list(play(place, key=key, body=typed if place.body else "", to_the_end=to_the_end))
    last = exchanges[-1].place
    return last, text if last is place else last.body, _played(request, key.business, exchanges)


def _shown(request: HttpRequest, membership: Membership, place: Place, text: str) -> dict[str, Any]:
    """Return what the page shows about its list and the step, whether or not it was played."""
    business, search = membership.business, without_real_cards(request.GET.get("q", ""))[:100]
    opens_payer_page = any(PAYER_PAGE in step.path for step in place.scenario.steps)
    return {
        "membership": membership,
        "search": search,
        "groups": groups(search=search, chosen=place.scenario),
        "place": place,
        "text": text,
        "samples": page.samples(place, text),
        "payer_page": payer_page(business, place) if opens_payer_page else "",
        "history": history.played(request.session, business),
        "demo_link": links.find_of(business, DEMO_LINK),
        "attempts": _pending_attempts(business),
        "payouts_need_balance": settings.PAYOUT_REQUIRES_BALANCE,
    }


def _played(request: HttpRequest, business: Business, exchanges: list[Exchange]) -> dict[str, Any]:
    """Return what the page shows about calls, and add them to the history."""
    last = exchanges[-1]
    following = last.place.after(last.call.document)
    made = page.made_by(business, exchanges)
    link = made.link if made else ""
    history.remember(request.session, business, last, link=link, now=clock.now())
    return {
        "exchanges": exchanges,
        "exchange": last,
        "call": last.call,
        "following": following,
        "following_title": title_of(following.step) if following else "",
        "made": made,
        "deliveries": page.deliveries_of(business, exchanges),
        "has_endpoint": Endpoint.objects.first_of(business).exists(),
    }


def _pending_attempts(business: Business) -> list[Transaction]:
    """Return the newest payments of links that wait for something that expires."""
    newest = Transaction.objects.of(business).filter(payment_link__isnull=False).order_by("-pk")
    recent = newest.select_related("payment_link")[:NEWEST]
    return [each for each in recent if each.awaiting in {Awaiting.PAYER, Awaiting.TRANSFER}][:SHOWN]


@members_action("expire a payment", may=Permission.TRY_FLOWS, never_asks=TRIES)
def expire_now(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Trigger the next scheduled event of a payment, like POST /api/sandbox/advance."""
    _require_sandbox()
    payment = own_transaction(membership, transaction_id)
    try:
        advanced = advance(payment, actor=person_acting(request))
    except InvalidState as refusal:
        messages.warning(request, str(refusal.detail))
    else:
        messages.success(request, ADVANCED[advanced])
    return redirect(address_of(payment))


@members_action("retry a delivery", may=Permission.TRY_FLOWS, never_asks=TRIES)
def retry_now(request: HttpRequest, membership: Membership, delivery_id: UUID) -> HttpResponse:
    """Have the next attempt of a delivery made now, like POST /api/sandbox/advance."""
    _require_sandbox()
    delivery = get_object_or_404(Delivery, business=membership.business, pk=delivery_id)
    try:
        make_attempt_due(delivery, actor=person_acting(request))
    except InvalidState as refusal:
        messages.warning(request, str(refusal.detail))
    else:
        messages.success(request, "Retrying now.")
    return redirect("dashboard-delivery", delivery.pk)


@members_action("settle all payments", may=Permission.TRY_FLOWS, never_asks=TRIES)
def settle_now(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Settle every payment without a batch and release the batches, like POST /api/sandbox/advance."""
    _require_sandbox()
    made = close_day(membership.business, DayState.RELEASED, actor=person_acting(request))
    if not made:
        messages.info(request, "Nothing to settle: every successful payment is in a batch.")
        return redirect("dashboard-sandbox")
    messages.success(request, _settled(made))
    return redirect("dashboard-settlements")


def _settled(made: list[SettlementBatch]) -> str:
    """Return what was settled in a sentence."""
    nets: dict[str, int] = {}
    for batch in made:
        nets[batch.currency] = nets.get(batch.currency, 0) + batch.net
    sums = " and ".join(money(net, currency) for currency, net in nets.items())
    batches = counted(len(made), "settlement", "settlements")
    return f"{batches} released. {sums} credited to your balance."


def _require_sandbox() -> None:
    if not settings.SANDBOX:
        raise Http404
