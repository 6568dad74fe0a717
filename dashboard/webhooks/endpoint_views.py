"""The endpoint: its URL, subscriptions, signing key and health."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from dashboard.memberships import Membership, members_action, members_form
from dashboard.webhooks.delivery_rows import rows_of
from dashboard.webhooks.endpoint_health import Health, health_of, state_of
from dashboard.webhooks.forms import EndpointForm, RotationForm, initial
from dashboard.webhooks.sample_event import sample_payment
from kit.db import clock
from kit.time.durations import in_words
from merchants.people import attempt_limits, audit
from merchants.people.access import HARMLESS, Limit
from merchants.people.attempt_limits import LimitReached
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from webhooks import services
from webhooks.models import Delivery, Endpoint
from webhooks.sending.retry_schedule import delays_of

RECENT = 5

# Per business: each calls its endpoint.
TEST_EVENTS = attempt_limits.Limit("test-events", 20, timedelta(minutes=15))


@members_form("change the webhook settings", may=Permission.MANAGE_WEBHOOKS, shown_to=Permission.VIEW)
def webhooks_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the endpoint and its health, and save new settings."""
    endpoint = (
        Endpoint.objects.filter(business=membership.business).defer("hash_key", "previous_hash_key").first()
    )
    if request.method != "POST":
        return _page(request, membership, endpoint, EndpointForm(initial=initial(endpoint)))
    form = EndpointForm(request.POST)
    if not form.is_valid():
        return _page(request, membership, endpoint, form)
    try:
        configured = services.configure(
            business=membership.business,
            url=form.cleaned_data["url"],
            subscribed_events=form.subscribed_events,
            enabled=form.cleaned_data["enabled"],
            actor=person_acting(request),
            now=clock.now(),
        )
    except services.UnusableEndpoint as refusal:
        form.add_error("url" if form.subscribed_events else "payment", str(refusal.detail))
        return _page(request, membership, endpoint, form)
    if configured.new_hash_key is None:
        messages.success(request, "Webhook settings saved.")
        return redirect("dashboard-webhooks")
    # Not redirected: the key is in this response only, and in no session, cache or URL.
    return _page(request, membership, configured.endpoint, form, new_hash_key=configured.new_hash_key)


def _page(
    request: HttpRequest, membership: Membership, endpoint: Endpoint | None, form: EndpointForm, **shown: Any
) -> HttpResponse:
    context: dict[str, Any] = {
        "membership": membership,
        "endpoint": endpoint,
        "form": form,
        "retries": [in_words(delay) for delay in delays_of(settings.WEBHOOK_RETRY_DELAYS)[1:]],
    }
    # A new key or the errors of a form are what the page is about.
    if endpoint is not None and not form.is_bound:
        context |= _health(membership, endpoint)
    return render(request, "dashboard/webhooks/endpoint.html", context | shown)


def _health(membership: Membership, endpoint: Endpoint) -> dict[str, Any]:
    health: Health = health_of(membership.business, now=timezone.now())
    code, name = state_of(endpoint, health.outage)
    newest = Delivery.objects.filter(business=membership.business).defer("body")
    recent = rows_of(list(newest.order_by("-created_at", "-id")[:RECENT]))
    return {"health": health, "state": code, "state_name": name, "recent": recent}


@members_form("rotate the webhook signing key", may=Permission.MANAGE_WEBHOOKS)
def rotate_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Explain what rotation does, and rotate the key. A form submitted twice rotates it once."""
    endpoint = (
        Endpoint.objects.filter(business=membership.business).defer("hash_key", "previous_hash_key").first()
    )
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
            return redirect("dashboard-webhooks")
        if form.is_valid():
            rotated = services.rotate_hash_key(
                business=membership.business,
                actor=person_acting(request),
                now=timezone.now(),
                overlap=form.overlap,
            )
            endpoint = rotated.endpoint
            shown = {"new_hash_key": rotated.new_hash_key}
    waiting = Delivery.objects.filter(business=membership.business, state=Delivery.State.WAITING)[
        :1000
    ].count()
    context = {
        "membership": membership,
        "endpoint": endpoint,
        "form": form,
        "made": endpoint.key_made_at.isoformat(),
        "waiting": waiting,
    }
    return render(request, "dashboard/webhooks/rotate.html", context | shown)


@members_action(
    "send a test event", may=Permission.MANAGE_WEBHOOKS, never_asks=HARMLESS, limits=(Limit.TEST_EVENT,)
)
def send_test_event(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Send a sample event, and redirect to its delivery."""
    now = clock.now()
    try:
        with transaction.atomic():
            attempt_limits.take(TEST_EVENTS.of(membership.business.pk), now=now)
            delivery = services.send_test_event(
                business=membership.business, data=sample_payment(membership.business, now=now), now=now
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
        return redirect("dashboard-webhooks")
    messages.info(request, "Sending a test event. Your endpoint's response will appear here.")
    return redirect("dashboard-delivery", delivery.pk)
