"""The endpoints of a business: the list, the page of one, and how they are added, changed and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_form, members_page
from dashboard.webhooks.endpoints.endpoint_health import STATE_NAMES, state_code
from dashboard.webhooks.endpoints.endpoint_views import key_context
from dashboard.webhooks.endpoints.health_context import health_context, progress_context, progress_part
from dashboard.webhooks.endpoints.own_endpoints import address_of, endpoints_of, own_endpoint
from dashboard.webhooks.forms import FullEndpointForm, all_settings
from kit.api.errors import Problem
from kit.db import clock
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from webhooks import services
from webhooks.models import Delivery, Endpoint, OpenOutage

MOST_COUNTED = 1000  # deliveries that a deletion skips


@dataclass(frozen=True, slots=True)
class Row:
    """An endpoint of the list. Its outage is the one that was last recorded, so that the list costs three queries."""

    endpoint: Endpoint
    state: str

    @property
    def state_name(self) -> str:
        return STATE_NAMES[self.state]

    @property
    def address(self) -> str:
        return address_of(self.endpoint)

    @property
    def events(self) -> str:
        return ", ".join(self.endpoint.subscribed_events)


@members_page
def endpoints_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    endpoints = endpoints_of(membership.business)
    failing = set(
        OpenOutage.objects.at_present_urls().filter(endpoint__in=endpoints).values_list("endpoint", flat=True)
    )
    tried = set(Endpoint.objects.filter(business=membership.business).tried().values_list("pk", flat=True))
    context = {
        "membership": membership,
        "rows": [
            Row(each, state_code(each, is_failing=each.pk in failing, was_tried=each.pk in tried))
            for each in endpoints
        ],
        "count": len(endpoints),
        "most": services.MOST_ENDPOINTS,
    }
    return render(request, "dashboard/webhooks/endpoints.html", context)


@members_form("add a webhook endpoint", may=Permission.MANAGE_WEBHOOKS)
def new_endpoint_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Add an endpoint, and show its signing key once. A form submitted twice names the URL that is taken."""
    form = FullEndpointForm(request.POST or None, initial=all_settings(None))
    shown: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        with _errors_in(form):
            added = services.create_endpoint(
                business=membership.business,
                wanted=form.values,
                actor=person_acting(request),
                now=clock.now(),
            )
            shown = {**key_context(added), "endpoint": added.endpoint, "back": address_of(added.endpoint)}
    context = {"membership": membership, "form": form}
    # Not redirected: the key is in this response only, and in no session, cache or URL.
    return render(request, "dashboard/webhooks/new_endpoint.html", context | shown)


@members_page
def endpoint_page(request: HttpRequest, membership: Membership, endpoint_id: UUID) -> HttpResponse:
    """Show the health of a further endpoint, and its settings. The webhook pages begin with those of the first one."""
    endpoint = own_endpoint(membership.business, endpoint_id)
    if part := progress_part(request, membership.business):
        return part
    if endpoint.is_first:
        return redirect(address_of(endpoint))
    context = {
        "membership": membership,
        "endpoint": endpoint,
        **health_context(endpoint, is_only=False),
        **progress_context(request, membership.business),
    }
    return render(request, "dashboard/webhooks/further_endpoint.html", context)


@members_form("change a webhook endpoint", may=Permission.MANAGE_WEBHOOKS)
def edit_endpoint_page(request: HttpRequest, membership: Membership, endpoint_id: UUID) -> HttpResponse:
    """Change all settings of an endpoint."""
    endpoint = own_endpoint(membership.business, endpoint_id)
    form = FullEndpointForm(request.POST or None, initial=all_settings(endpoint))
    if request.method == "POST" and form.is_valid():
        with _errors_in(form):
            services.change_endpoint(endpoint, form.values, actor=person_acting(request), now=clock.now())
            messages.success(request, "Endpoint saved.")
            return redirect(address_of(endpoint))
    context = {"membership": membership, "endpoint": endpoint, "form": form, "back": address_of(endpoint)}
    return render(request, "dashboard/webhooks/edit_endpoint.html", context)


@members_form("delete a webhook endpoint", may=Permission.MANAGE_WEBHOOKS)
def delete_endpoint_page(request: HttpRequest, membership: Membership, endpoint_id: UUID) -> HttpResponse:
    """Say what a deletion skips, and delete the endpoint."""
    endpoint = own_endpoint(membership.business, endpoint_id)
    if endpoint.is_first:
        messages.warning(request, str(services.FirstEndpoint.default_detail))
        return redirect("dashboard-webhooks")
    if request.method == "POST":
        services.delete_endpoint(endpoint, actor=person_acting(request), now=clock.now())
        messages.success(request, "Endpoint deleted.")
        return redirect("dashboard-endpoints")
    undelivered = Delivery.objects.of_endpoint(endpoint).filter(
        state__in=[Delivery.State.WAITING, Delivery.State.HELD]
    )
    context = {
        "membership": membership,
        "endpoint": endpoint,
        "undelivered": undelivered[:MOST_COUNTED].count(),
        "most": MOST_COUNTED,
    }
    return render(request, "dashboard/webhooks/delete_endpoint.html", context)


@contextmanager
def _errors_in(form: FullEndpointForm) -> Iterator[None]:
    """Show why a change was refused in the form. 404 if the endpoint was deleted meanwhile."""
    try:
        yield
    except Endpoint.DoesNotExist:
        raise Http404 from None
    except services.TooManyEndpoints as refusal:
        form.add_error(None, str(refusal.detail))
    except Problem as refusal:
        form.add_error("url", str(refusal.detail))
