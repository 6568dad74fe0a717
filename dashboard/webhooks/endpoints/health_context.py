"""What a page shows about an endpoint's health: its state and charts, and its newest deliveries."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django_htmx.http import HttpResponseClientRefresh

from dashboard.webhooks.deliveries.delivery_rows import DeliveryRow, rows_of
from dashboard.webhooks.deliveries.resend_progress import progress_of
from dashboard.webhooks.endpoints.endpoint_health import changes_before, health_of, state_of
from dashboard.webhooks.endpoints.own_endpoints import form_address_of
from merchants.models import Business
from webhooks.models import Delivery, Endpoint

RECENT = 4


def progress_part(request: HttpRequest, business: Business) -> HttpResponse | None:
    """Return the part of the page that polls for the progress of a resend, if that is what is requested.

    Once every delivery is answered, the whole page reloads: its figures and rows are older than the answers.
    """
    if request.headers.get("HX-Request") != "true":
        return None
    context = progress_context(request, business)
    if context and context["progress"].is_over:
        return HttpResponseClientRefresh()
    return render(request, "dashboard/webhooks/_progress.html", context)


def progress_context(request: HttpRequest, business: Business) -> dict[str, Any]:
    """Return the context of `_progress.html`: nothing without a resend in the address."""
    progress = progress_of(business, request.GET.get("resent", ""))
    return {"progress": progress, "address": request.get_full_path()} if progress else {}


def recent_rows(endpoint: Endpoint) -> list[DeliveryRow]:
    """Return the newest deliveries of an endpoint."""
    newest = Delivery.objects.of_endpoint(endpoint).defer("body").order_by("-created_at", "-id")
    return rows_of(list(newest[:RECENT]))


def health_context(endpoint: Endpoint, *, is_only: bool) -> dict[str, Any]:
    """Return the context of `_health.html`. Links name the endpoint, unless it is the business's only one."""
    health = health_of(endpoint, now=timezone.now())
    code, name = state_of(endpoint, health.outage)
    return {
        "health": health,
        "state": code,
        "state_name": name,
        "changes": changes_before(health.outage, endpoint) if health.outage else [],
        "named": "" if is_only else str(endpoint.public_id),
        "form_address": form_address_of(endpoint),
    }
