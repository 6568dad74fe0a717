"""The endpoints of a member's business, without their signing keys."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404
from django.urls import reverse

from merchants.models import Business
from webhooks.models import Endpoint

SECRETS = ("hash_key", "previous_hash_key")


def endpoints_of(business: Business) -> list[Endpoint]:
    """Return the endpoints of a business, the first one first."""
    return list(Endpoint.objects.live().filter(business=business).defer(*SECRETS).order_by("number"))


def first_of(business: Business) -> Endpoint | None:
    """Return the first endpoint of a business, or None before it has one."""
    return next(iter(endpoints_of(business)), None)


def own_endpoint(business: Business, endpoint_id: UUID) -> Endpoint:
    """Return the endpoint of a business with this public id.

    :raises Http404: it has none, or it was deleted
    """
    found = next((each for each in endpoints_of(business) if each.public_id == endpoint_id), None)
    if found is None:
        raise Http404
    return found


def named_endpoint(business: Business, text: str) -> Endpoint | None:
    """Return the endpoint that a form or an address names by its public id: by default the first one, if any.

    :raises Http404: the business has no such endpoint
    """
    if not text:
        return first_of(business)
    try:
        return own_endpoint(business, UUID(text))
    except ValueError:
        raise Http404 from None


def address_of(endpoint: Endpoint) -> str:
    """Return the address of an endpoint's health. Of the first one, it is where the webhook pages begin."""
    if endpoint.is_first:
        return reverse("dashboard-webhook-health")
    return reverse("dashboard-endpoint", args=[endpoint.public_id])


def settings_address_of(endpoint: Endpoint) -> str:
    """Return the address of the page with an endpoint's settings. Only the first one has a page for them alone."""
    return reverse("dashboard-webhooks") if endpoint.is_first else address_of(endpoint)


def form_address_of(endpoint: Endpoint) -> str:
    """Return the address of the form with an endpoint's URL."""
    if endpoint.is_first:
        return reverse("dashboard-webhooks")
    return reverse("dashboard-edit-endpoint", args=[endpoint.public_id])
