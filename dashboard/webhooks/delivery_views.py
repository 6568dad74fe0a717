"""Deliveries: the list, the page of one delivery, and resending."""

from __future__ import annotations

from itertools import islice
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from dashboard.memberships import Membership, members_action, members_form, members_page
from dashboard.ui.addresses import encoded
from dashboard.ui.lists.lists import list_context
from dashboard.ui.times import moment_text
from dashboard.webhooks.delivery_detail import detail_of, later_attempts
from dashboard.webhooks.delivery_list import DELIVERIES, DeliveryFilter
from dashboard.webhooks.delivery_rows import rows_of, selected
from dashboard.webhooks.forms import ReplayForm
from kit.db import clock
from kit.text.plurals import counted
from merchants.people.access import HARMLESS
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from webhooks import services
from webhooks.endpoints.outages import outage_of
from webhooks.models import Delivery

MAX_QUERY = 2000  # characters of the list's filter
AT_ONCE = 500  # deliveries resent by one submission


@members_page
def deliveries_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = DeliveryFilter(request.GET, business=membership.business)
    context = list_context(DELIVERIES, form, form, membership=membership, query=request.GET)
    rows = context["page"].rows
    context |= {"rows": rows_of(rows), "query": encoded(request.GET, keeps_search=bool(rows))}
    return render(request, "dashboard/webhooks/deliveries.html", context)


@members_page
def delivery_page(request: HttpRequest, membership: Membership, delivery_id: UUID) -> HttpResponse:
    """Show a delivery. While an attempt is scheduled or in progress, the page polls for the part that changes."""
    delivery = _own(membership, delivery_id)
    is_part = request.headers.get("HX-Request") == "true"
    context = {
        "membership": membership,
        "detail": detail_of(delivery, membership=membership),
        "later": later_attempts(delivery),
        "is_part": is_part,
    }
    template = "dashboard/webhooks/_detail.html" if is_part else "dashboard/webhooks/delivery.html"
    return render(request, template, context)


@members_action("resend a delivery", may=Permission.REPLAY_WEBHOOKS, never_asks=HARMLESS)
def replay(request: HttpRequest, membership: Membership, delivery_id: UUID) -> HttpResponse:
    """Resend one delivery."""
    delivery = _own(membership, delivery_id)
    (is_resent,) = services.replay([delivery.pk], actor=person_acting(request), now=clock.now())
    if is_resent:
        _say_resent(request, membership, "Resending with the same ID and body, signed with the current key.")
    elif not delivery.has_payload:
        messages.warning(
            request, "This delivery can't be resent. Its body was deleted at the end of its retention period."
        )
    else:
        messages.warning(
            request, "This delivery is already being sent, or you have unsubscribed from its event."
        )
    return redirect("dashboard-delivery", delivery.pk)


@members_action("resend the selected deliveries", may=Permission.REPLAY_WEBHOOKS, never_asks=HARMLESS)
def replay_selected(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Resend the deliveries that were selected in the list, and return to it."""
    chosen = selected(request.POST.getlist("delivery")[:AT_ONCE])
    resent = sum(
        services.replay_selected(
            chosen, business=membership.business, actor=person_acting(request), now=clock.now()
        )
    )
    left = len(chosen) - resent
    if not chosen:
        messages.warning(request, "Select the deliveries to resend.")
    if resent:
        _say_resent(request, membership, f"Resending {counted(resent, 'delivery', 'deliveries')}.")
    if left:
        subject = counted(left, "delivery was", "deliveries were")
        messages.warning(
            request, f"{subject} not resent, because an attempt was made or the body was deleted."
        )
    query = encoded(QueryDict(request.POST.get("query", "")[:MAX_QUERY]))
    return redirect(f"{reverse('dashboard-deliveries')}?{query}")


@members_form("resend deliveries", may=Permission.REPLAY_WEBHOOKS, never_asks=HARMLESS)
def replay_range_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Resend the deliveries of a range of days, after showing how many there are."""
    query = request.POST if request.method == "POST" else request.GET
    form = ReplayForm(query or None, initial={"state": Delivery.State.DEAD, "until": timezone.localdate()})
    context = {"membership": membership, "form": form, "at_once": AT_ONCE, "count": None}
    if form.is_valid():
        since, until = form.moments
        chosen = services.replayable(
            business=membership.business, states=[form.cleaned_data["state"]], since=since, until=until
        ).values_list("pk", flat=True)
        if request.method == "POST":
            keys = list(chosen[:AT_ONCE])
            sent = sum(services.replay(keys, actor=person_acting(request), now=clock.now()))
            _say_resent(request, membership, f"Resending {counted(sent, 'delivery', 'deliveries')}.")
            return redirect("dashboard-deliveries")
        context["count"] = len(list(islice(chosen[: AT_ONCE + 1], AT_ONCE + 1)))
    return render(request, "dashboard/webhooks/replay.html", context)


def _say_resent(request: HttpRequest, membership: Membership, text: str) -> None:
    """Add the message, with a warning while the endpoint accepts no deliveries."""
    outage = outage_of(membership.business.pk)
    if outage is None:
        messages.success(request, text)
        return
    since = moment_text(outage.began_at)
    failing = (
        f"Your endpoint has been failing since {since}. If it fails again, resend when your server is ready."
    )
    messages.warning(request, f"{text} {failing}")


def _own(membership: Membership, delivery_id: UUID) -> Delivery:
    delivery: Delivery | None = Delivery.objects.filter(business=membership.business, pk=delivery_id).first()
    if delivery is None:
        raise Http404
    return delivery
