"""Admin pages of endpoints and deliveries. Staff can resend deliveries, with a reason."""

from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern

from kit.db import clock
from kit.text.plurals import counted
from merchants.admin import ReadOnlyAdmin, ReadOnlyInline, by_business_name, by_id, exactly
from merchants.admin.base import staff_action
from merchants.admin.columns import two_lines
from merchants.admin.filters import UsualStateFilter
from merchants.people.request_actors import person_acting
from webhooks import services
from webhooks.models import FINISHED, Attempt, Delivery, Endpoint

MAY_REPLAY = "webhooks.change_delivery"


class AttemptInline(ReadOnlyInline):
    model = Attempt
    exclude = ("excerpt",)
    ordering = ("number",)


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyAdmin):
    groups: ClassVar = {
        "Endpoint": (
            "business",
            "number",
            "url",
            "description",
            "enabled",
            "made_by_api",
            "created_at",
            "url_changed_at",
            "deleted_at",
        ),
        "Events": ("subscribed_events", "standard_webhooks", "api_version"),
        "Signing key": ("key_made_at", "previous_key_ends_at"),
    }
    list_display = ("business", "url", "subscribed_events", "enabled", "key_made_at")
    list_filter = ("enabled",)
    list_select_related = ("business",)
    searches = (by_id("business"), by_business_name(), exactly("url"))
    search_help_text = "Name or ID of the business, or full URL."
    exclude = ("hash_key", "previous_hash_key")


class ReplayForm(forms.Form):
    """The reason for resending a delivery."""

    reason = forms.CharField(max_length=255)


class ReplayActionForm(ActionForm):
    """The list's action form, with a reason."""

    reason = forms.CharField(required=False)


class StateFilter(UsualStateFilter):
    """Filter by one state at a time, stopped by default. Each state has an index; the whole list has none."""

    usual = Delivery.STATE_NAMES[Delivery.State.DEAD]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, name) for state, name in Delivery.STATE_NAMES.items() if state != Delivery.State.DEAD]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if request.GET.get("q", "").strip() and self.value() is None:
            return queryset  # a search covers all states
        state = self.value() or Delivery.State.DEAD
        chosen = queryset.filter(state=state)
        return chosen.with_payload() if state in FINISHED else chosen


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """The lists show deliveries that still have their bodies. Search finds older ones."""

    groups: ClassVar = {
        "State": (
            "state", "attempts_made", "manual_attempts", "is_manual", "next_attempt_at", "planned_at", "held_at",
            "delivered_at",
        ),
        "Event": ("event", "subject", "business", "endpoint_number", "created_at", "body"),
    }  # fmt: skip
    change_form_template = "admin/webhooks/delivery.html"
    list_display = ("event_and_id", "state", "business", "attempts_made", "next_attempt_at", "created_at")
    list_filter = (StateFilter,)
    list_select_related = ("business",)
    searches = (by_id(), by_id("subject"), by_business_name())
    search_help_text = "ID of the event or its transaction, or name of the business."
    ordering = ("-created_at",)
    empty_text = "No deliveries have stopped. Choose another state to see the others."
    exclude = ("lease_token",)
    states: ClassVar = {"state": Delivery.STATE_NAMES}
    any_object: ClassVar = ("subject",)
    inlines = (AttemptInline,)
    actions = ("replay_chosen",)
    may_act_on_list = MAY_REPLAY
    action_form = ReplayActionForm

    @admin.display(description="event")
    def event_and_id(self, delivery: Delivery) -> str:
        return two_lines(delivery.event, delivery.pk)

    def get_queryset(self, request: HttpRequest) -> Any:
        found = super().get_queryset(request)
        match = request.resolver_match
        return found.defer("body") if match and str(match.url_name).endswith("_changelist") else found

    def get_urls(self) -> list[URLPattern]:
        return [*self.action_urls("delivery_id", {"replay": self.replay}), *super().get_urls()]

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(MAY_REPLAY)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if isinstance(row, Delivery) and self.has_replay_permission(request):
            # Without a body, the page explains why there is no button.
            is_shown = services.is_replayable(row, now=clock.now()) or not (row.has_payload or row.is_test)
            return {"replay_form": ReplayForm() if is_shown else None}
        return {}

    @admin.action(description="Resend deliveries", permissions=["replay"])
    def replay_chosen(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        self._replay(request, ReplayForm(request.POST), list(queryset.values_list("pk", flat=True)))

    @staff_action("resend a delivery", may=MAY_REPLAY, needs_second_person=False)
    def replay(self, request: HttpRequest, delivery_id: UUID) -> HttpResponse:
        get_object_or_404(Delivery, pk=delivery_id)
        form = ReplayForm(request.POST)
        self._replay(request, form, [delivery_id])
        if form.errors:
            return self.page_again(request, delivery_id, replay_form=form)
        return redirect("admin:webhooks_delivery_change", delivery_id)

    def _replay(self, request: HttpRequest, form: ReplayForm, ids: list[UUID]) -> None:
        if not form.is_valid():
            messages.error(request, "Nothing was resent. Give a reason of at most 255 characters.")
            return
        reason = form.cleaned_data["reason"]
        going = sum(services.replay(ids, actor=person_acting(request), now=clock.now(), reason=reason))
        if going:
            messages.success(request, f"Queued {counted(going, 'delivery', 'deliveries')} to resend.")
        if going < len(ids):
            left = counted(len(ids) - going, "delivery", "deliveries")
            messages.warning(
                request, f"{left} not resent: already queued, skipped, or without a body, which was deleted."
            )
