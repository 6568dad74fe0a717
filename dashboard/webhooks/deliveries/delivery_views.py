"""Deliveries: the list, the page of one delivery, and resending."""

from __future__ import annotations

from itertools import islice
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from dashboard.memberships import Membership, members_action, members_form, members_page
from dashboard.ui.addresses import encoded
from dashboard.ui.lists.lists import list_response
from dashboard.ui.times import moment_text
from dashboard.webhooks.deliveries.delivery_detail import detail_of, later_attempts
from dashboard.webhooks.deliveries.delivery_list import DELIVERIES, DeliveryFilter
from dashboard.webhooks.deliveries.delivery_rows import rows_of, selected
from dashboard.webhooks.deliveries.resend_progress import query_of
from dashboard.webhooks.endpoints.own_endpoints import address_of, named_endpoint
from dashboard.webhooks.forms import ReplayForm
from kit.db import clock
from kit.text.plurals import counted
from merchants.people.access import HARMLESS
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from webhooks import services
from webhooks.endpoints.outages import outage_of
from webhooks.models import Delivery, Endpoint

MAX_QUERY = 2000  # characters of the list's filter
AT_ONCE = 500  # deliveries resent by one submission


@members_page
def deliveries_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = DeliveryFilter(request.GET, business=membership.business)

    def with_selection(context: dict[str, Any]) -> dict[str, Any]:
        shown = rows_of(context["page"].rows)
        return {
            "rows": shown,
            "selects": membership.may["replay_webhooks"] and any(row.selection for row in shown),
            "query": encoded(request.GET, keeps_search=bool(shown)),
            "count": sum(each.deleted_at is None for each in form.endpoints),
        }

    template = "dashboard/webhooks/deliveries.html"
    return list_response(
        request, template, DELIVERIES, form, form, membership=membership, further=with_selection
    )


@members_page
def delivery_page(request: HttpRequest, membership: Membership, delivery_id: UUID) -> HttpResponse:
    """Show a delivery. While an attempt is scheduled or in progress, the page polls for the part that changes."""
    delivery = _own(membership, delivery_id)
    is_part = request.headers.get("HX-Request") == "true"
    detail = detail_of(delivery, membership=membership)
    context = {
        "membership": membership,
        "detail": detail,
        "later": later_attempts(delivery),
        "offers_retry": settings.SANDBOX and detail.is_live and membership.may["try_flows"],
        "offers_resend": detail.is_replayable and membership.may["replay_webhooks"],
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
        text = "Resending with the same ID and body, signed with the current key."
        _say_resent(request, membership, text, number=delivery.endpoint_number)
    elif not delivery.has_payload:
        messages.warning(
            request, "This delivery can't be resent. Its body was deleted at the end of its retention period."
        )
    else:
        messages.warning(request, "This delivery is being sent now, or you have unsubscribed from its event.")
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
    """Resend the deliveries of a range of time, after showing how many there are."""
    query = request.POST if request.method == "POST" else request.GET
    form = ReplayForm(query or None, initial={"state": Delivery.State.DEAD})
    endpoint = (
        named_endpoint(membership.business, query.get("endpoint", "")) if query.get("endpoint") else None
    )
    context = {
        "membership": membership,
        "form": form,
        "endpoint": endpoint,
        "at_once": AT_ONCE,
        "count": None,
    }
    if form.is_valid():
        wanted = form.cleaned_data
        chosen = services.replayable(
            business=membership.business,
            states=[wanted["state"]],
            since=wanted["since"],
            until=wanted["until"],
            now=clock.now(),
            endpoint=endpoint,
        ).values_list("pk", flat=True)
        if request.method == "POST":
            return _resend(request, membership, endpoint, list(chosen[:AT_ONCE]), state=wanted["state"])
        context["count"] = len(list(islice(chosen[: AT_ONCE + 1], AT_ONCE + 1)))
    return render(request, "dashboard/webhooks/replay.html", context)


def _resend(
    request: HttpRequest, membership: Membership, endpoint: Endpoint | None, keys: list[UUID], *, state: str
) -> HttpResponse:
    """Resend these deliveries in a state. Extra attempts now are followed on the page of the endpoint's health."""
    now = clock.now()
    sent = sum(services.replay(keys, actor=person_acting(request), now=now))
    text = f"Resending {counted(sent, 'delivery', 'deliveries')}."
    _say_resent(request, membership, text, number=endpoint.number if endpoint else Endpoint.FIRST)
    if state != Delivery.State.WAITING:
        return redirect(f"{reverse('dashboard-deliveries')}?state={state}")
    page = address_of(endpoint) if endpoint else reverse("dashboard-webhook-health")
    return redirect(f"{page}?{query_of(now)}")


def _say_resent(
    request: HttpRequest, membership: Membership, text: str, *, number: int = Endpoint.FIRST
) -> None:
    """Add the message, with a warning while the endpoint of this number accepts no deliveries."""
    endpoint = Endpoint.objects.filter(business=membership.business, number=number).first()
    outage = outage_of(endpoint) if endpoint else None
    if outage is None:
        messages.success(request, text)
        return
    since = moment_text(outage.began_at)
    failing = (
        f"Your endpoint has been failing since {since}. If it fails again, resend when your server is ready."
    )
    messages.warning(request, f"{text} {failing}")


def _own(membership: Membership, delivery_id: UUID) -> Delivery:
    return get_object_or_404(Delivery, business=membership.business, pk=delivery_id)
