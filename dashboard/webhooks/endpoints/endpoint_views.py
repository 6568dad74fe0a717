"""The first endpoint: its URL, subscriptions, signing key and health. Any endpoint: rotation and test events."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from dashboard.memberships import Membership, members_action, members_form, members_page
from dashboard.webhooks.endpoints.health_context import (
    health_context,
    progress_context,
    progress_part,
    recent_rows,
)
from dashboard.webhooks.endpoints.own_endpoints import (
    address_of,
    endpoints_of,
    first_of,
    named_endpoint,
    own_endpoint,
    settings_address_of,
)
from dashboard.webhooks.endpoints.sample_event import sample_payment
from dashboard.webhooks.forms import EndpointForm, RotationForm, initial
from kit.db import clock
from kit.time.durations import in_words
from merchants.people import attempt_limits, audit
from merchants.people.access import HARMLESS, Limit
from merchants.people.attempt_limits import LimitReached
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from webhooks import services
from webhooks.endpoints.endpoint_changes import Configured
from webhooks.models import Delivery, Endpoint
from webhooks.sending.retry_schedule import delays_of
from webhooks.signing import standard_secret

# Per business: each calls its endpoint.
TEST_EVENTS = attempt_limits.Limit("test-events", 20, timedelta(minutes=15))


@members_form("change the webhook settings", may=Permission.MANAGE_WEBHOOKS, shown_to=Permission.VIEW)
def webhooks_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the settings of the first endpoint, and save new ones."""
    endpoints = endpoints_of(membership.business)
    endpoint = next(iter(endpoints), None)
    if request.method != "POST":
        return _settings(request, membership, endpoints, EndpointForm(initial=initial(endpoint)))
    form = EndpointForm(request.POST)
    if not form.is_valid():
        return _settings(request, membership, endpoints, form)
    try:
        configured = services.configure(
            business=membership.business,
            url=form.cleaned_data["url"],
            subscribed_events=[*form.subscribed_events, *(endpoint.single_events if endpoint else [])],
            enabled=form.cleaned_data["enabled"],
            actor=person_acting(request),
            now=clock.now(),
        )
    except (services.UnusableEndpoint, services.UrlTaken) as refusal:
        form.add_error("url" if form.subscribed_events else "payment", str(refusal.detail))
        return _settings(request, membership, endpoints, form)
    if configured.new_hash_key is None:
        messages.success(request, "Webhook settings saved.")
        return redirect("dashboard-webhooks")
    # Not redirected: the key is in this response only, and in no session, cache or URL.
    return _settings(request, membership, [configured.endpoint], form, **key_context(configured))


def _settings(
    request: HttpRequest, membership: Membership, endpoints: list[Endpoint], form: EndpointForm, **shown: Any
) -> HttpResponse:
    context: dict[str, Any] = {
        "membership": membership,
        "endpoint": next(iter(endpoints), None),
        "count": len(endpoints),
        "form": form,
        "retries": [in_words(delay) for delay in delays_of(settings.WEBHOOK_RETRY_DELAYS)[1:]],
    }
    return render(request, "dashboard/webhooks/settings.html", context | shown)


@members_page
def health_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the health of the first endpoint, and its newest deliveries. Without one, show the settings."""
    if part := progress_part(request, membership.business):
        return part
    endpoints = endpoints_of(membership.business)
    if not endpoints:
        return _settings(request, membership, [], EndpointForm(initial=initial(None)))
    first = endpoints[0]
    context = {
        "membership": membership,
        "endpoint": first,
        "count": len(endpoints),
        "recent": recent_rows(first),
        **health_context(first, is_only=len(endpoints) == 1),
        **progress_context(request, membership.business),
    }
    return render(request, "dashboard/webhooks/health.html", context)


@members_form("rotate the webhook signing key", may=Permission.MANAGE_WEBHOOKS)
def rotate_page(
    request: HttpRequest, membership: Membership, endpoint_id: UUID | None = None
) -> HttpResponse:
    """Explain what rotation does, and rotate the key. A form submitted twice rotates it once."""
    business = membership.business
    endpoint = own_endpoint(business, endpoint_id) if endpoint_id else first_of(business)
    if endpoint is None:
        messages.add_message(
            request, messages.WARNING, "Save a webhook URL first. This creates the signing key."
        )
        return redirect("dashboard-webhooks")
    form = RotationForm(request.POST if request.method == "POST" else None)
    shown: dict[str, Any] = {}
    if request.method == "POST":
        if request.POST.get("made") != endpoint.key_made_at.isoformat():
            messages.warning(request, "The key was rotated after you opened the form. Nothing was changed.")
            return redirect(settings_address_of(endpoint))
        if form.is_valid():
            rotated = _rotate(request, endpoint, form)
            endpoint, shown = rotated.endpoint, key_context(rotated)
    mine = Delivery.objects.of_endpoint(endpoint).filter(state=Delivery.State.WAITING)
    context = {
        "membership": membership,
        "endpoint": endpoint,
        "form": form,
        "made": endpoint.key_made_at.isoformat(),
        "waiting": mine[:1000].count(),
        "back": settings_address_of(endpoint),
    }
    return render(request, "dashboard/webhooks/rotate.html", context | shown)


def _rotate(request: HttpRequest, endpoint: Endpoint, form: RotationForm) -> Configured:
    try:
        return services.rotate_hash_key(
            business=endpoint.business,
            number=endpoint.number,
            actor=person_acting(request),
            now=timezone.now(),
            overlap=form.overlap,
        )
    except Endpoint.DoesNotExist:  # deleted meanwhile
        raise Http404 from None


def key_context(configured: Configured) -> dict[str, str | None]:
    """Return a new key as a page shows it, with its form for libraries of Standard Webhooks where they may be used."""
    endpoint, key = configured.endpoint, configured.new_hash_key
    uses_libraries = endpoint.standard_webhooks or not endpoint.is_first
    return {"new_hash_key": key, "new_secret": standard_secret(key) if key and uses_libraries else None}


@members_action(
    "send a test event", may=Permission.MANAGE_WEBHOOKS, never_asks=HARMLESS, limits=(Limit.TEST_EVENT,)
)
def send_test_event(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Send a sample event to an endpoint, by default the first one, and redirect to its delivery."""
    now = clock.now()
    endpoint = named_endpoint(membership.business, request.POST.get("endpoint", ""))
    try:
        with transaction.atomic():
            attempt_limits.take(TEST_EVENTS.of(membership.business.pk), now=now)
            delivery = services.send_test_event(
                business=membership.business,
                number=endpoint.number if endpoint else Endpoint.FIRST,
                data=sample_payment(membership.business, now=now),
                now=now,
            )
            audit.record(
                action="webhook.test_sent",
                actor=person_acting(request),
                business=membership.business,
                target=str(delivery.pk),
                now=now,
            )
    except Endpoint.DoesNotExist:
        messages.warning(request, "Save a webhook URL first. The test event is sent to it.")
        return redirect("dashboard-webhooks")
    except LimitReached as limit:
        messages.warning(
            request, f"Too many test events. Try again in {limit.retry_after_seconds(now)} seconds."
        )
        return redirect(address_of(endpoint) if endpoint else "dashboard-webhooks")
    messages.info(request, "Sending a test event. Your endpoint's response will appear here.")
    return redirect("dashboard-delivery", delivery.pk)
