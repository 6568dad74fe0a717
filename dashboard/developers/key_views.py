"""API keys: list, create, rotate, revoke. A secret is shown in one response only."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from dashboard.developers.forms import NewKeyForm, RotateKeyForm
from dashboard.developers.request_list import named
from dashboard.memberships import Membership, members_form, members_page
from dashboard.ui.lists.tabs import Tab
from merchants.api import api_keys
from merchants.models import ApiKey
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission

LISTED = 200
SUBMISSION_ID = "dashboard.key_form"  # in the session: a form submitted twice creates one key


@members_page
def keys_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    now = timezone.now()
    listed = list(
        ApiKey.objects.filter(business=membership.business)
        .defer("secret")
        .annotate(has_expired=Q(expires_at__isnull=False, expires_at__lte=now))
        .order_by("-created_at", "-pk")[:LISTED]
    )
    good = [key for key in listed if not key.has_expired and key.revoked_at is None]
    shows_ended = request.GET.get("ended") == "yes"
    context = {
        "membership": membership,
        "keys": listed if shows_ended else good,
        "has_ended": len(good) < len(listed),
        "tabs": [
            Tab("Active", "?", len(good), is_here=not shows_ended),
            Tab("All", "?ended=yes", len(listed), is_here=shows_ended),
        ],
        "links": _links(),
    }
    return render(request, "dashboard/developers/keys.html", context)


@members_form("create an API key", may=Permission.MANAGE_KEYS)
def new_key_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = NewKeyForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {"membership": membership, "form": form, "title": "Create API key"}
    if request.method == "POST" and form.is_valid():
        if not _take_submission_id(request):
            return _already_submitted(request)
        context["new_key"] = api_keys.create_key(
            business=membership.business,
            actor=person_acting(request),
            now=timezone.now(),
            name=form.cleaned_data["name"],
            access=form.cleaned_data["access"],
        )
        context["title"] = "Your new key"
    return render(
        request, "dashboard/developers/new_key.html", context | {"once": _new_submission_id(request)}
    )


@members_form("rotate an API key", may=Permission.MANAGE_KEYS)
def rotate_key_page(request: HttpRequest, membership: Membership, key_id: int) -> HttpResponse:
    key = _key(membership, key_id)
    form = RotateKeyForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {
        "membership": membership,
        "form": form,
        "key": key,
        "title": "Rotate this key?",
    }
    if request.method == "POST" and form.is_valid():
        if not _take_submission_id(request):
            return _already_submitted(request)
        overlap = timedelta(hours=form.cleaned_data["overlap"])
        try:
            context["new_key"] = api_keys.rotate_key(
                key=key, overlap=overlap, actor=person_acting(request), now=timezone.now()
            )
        except api_keys.KeyHasEnded:
            messages.warning(request, "This key has already expired or been revoked. Create a new one.")
            return redirect("dashboard-developers")
        context["title"] = "Your new key"
    return render(
        request, "dashboard/developers/rotate_key.html", context | {"once": _new_submission_id(request)}
    )


@members_form("revoke an API key", may=Permission.MANAGE_KEYS)
def revoke_key_page(request: HttpRequest, membership: Membership, key_id: int) -> HttpResponse:
    key = _key(membership, key_id)
    if request.method != "POST":
        context = {"membership": membership, "key": key, "title": "Revoke this key?"}
        return render(request, "dashboard/developers/revoke_key.html", context)
    api_keys.revoke_key(key=key, actor=person_acting(request), now=timezone.now())
    messages.success(request, f"{named(key)} was revoked.")
    return redirect("dashboard-developers")


def _key(membership: Membership, key_id: int) -> ApiKey:
    return get_object_or_404(ApiKey.objects.defer("secret"), business=membership.business, pk=key_id)


def _new_submission_id(request: HttpRequest) -> str:
    """Return a one-time id of a form, so that a second submission is recognised."""
    submission_id = str(uuid4())
    request.session[SUBMISSION_ID] = submission_id
    return submission_id


def _take_submission_id(request: HttpRequest) -> bool:
    submission_id = request.session.pop(SUBMISSION_ID, "")
    return bool(submission_id) and submission_id == request.POST.get("once")


def _already_submitted(request: HttpRequest) -> HttpResponse:
    messages.warning(request, "This form was already submitted or has expired. No key was created.")
    return redirect("dashboard-developers")


def _links() -> list[dict[str, str]]:
    return [
        {
            "name": "API reference",
            "address": reverse("api-docs"),
            "text": "Every endpoint, field and response.",
        },
        {
            "name": "Postman collection",
            "address": reverse("postman-collection"),
            "text": "Import it and set your keys: a script signs each request.",
        },
        {
            "name": "Bruno collection",
            "address": reverse("bruno-collection"),
            "text": "Unzip it and open the folder. Its requests are the same.",
        },
        {
            "name": "Signing",
            "address": reverse("guide", args=["signing"]),
            "text": "How to sign requests, with samples in six languages.",
        },
        {
            "name": "Webhooks",
            "address": reverse("guide", args=["webhooks"]),
            "text": "Which events Sluice sends, and how to verify them.",
        },
        {
            "name": "Test data",
            "address": reverse("test-data"),
            "text": "Cards and amounts that trigger each outcome.",
        },
        {
            "name": "Errors",
            "address": reverse("errors"),
            "text": "What each error code means, and what to do.",
        },
    ]
