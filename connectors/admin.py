"""Admin page of the events that providers sent. Staff can process one again, with a reason."""

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html

from connectors.models import ProviderEvent, RefusedCapture
from connectors.registry import WEBHOOKS
from connectors.services import event_reprocessing
from kit.db import clock
from kit.files.bounded_json import indented
from kit.text.plurals import counted
from merchants.admin import ReadOnlyAdmin, by_id, in_each_business
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address, two_lines
from merchants.people.request_actors import person_acting
from payments.admin.transactions.transactions import TransactionAdmin
from payments.models import Transaction

MAY_PROCESS = "connectors.change_providerevent"


class AgainForm(forms.Form):
    """The reason for processing an event again."""

    reason = forms.CharField(max_length=255)


class AgainActionForm(ActionForm):
    """The list's action form, with a reason."""

    reason = forms.CharField(required=False)


class ProviderFilter(admin.SimpleListFilter):
    """Filter events by provider, which has an index."""

    title = "provider"
    parameter_name = "provider"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name.capitalize()) for name in WEBHOOKS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(provider=self.value()) if self.value() else queryset


def by_merchants_reference(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
    """Yield the events about the transactions with a reference."""
    for transactions in in_each_business("reference")(Transaction, term):
        yield model._default_manager.filter(transaction__in=transactions.values("pk"))


@admin.register(ProviderEvent)
class ProviderEventAdmin(ReadOnlyAdmin):
    groups: ClassVar = {
        "Event": ("provider", "account", "kind", "event_key", "references", "transaction", "operation"),
        "State": (
            "result", "outcome", "received_at", "last_received_at", "times_received", "asked_at", "processed_at", "attempts",
            "next_attempt_at",
        ),
        "As it was sent": ("content",),
    }  # fmt: skip
    change_form_template = "admin/connectors/event.html"
    list_display = (
        "kind_and_id", "provider", "transaction", "result", "outcome", "times_received", "received_at",
    )  # fmt: skip
    list_filter = (ProviderFilter, "result")
    list_select_related = ("transaction",)
    searches = (by_id(), by_id("transaction"), by_merchants_reference)
    search_help_text = "ID of the event or its transaction, or full reference of the transaction."
    readonly_fields = ("content",)
    actions = ("process_chosen_again",)
    may_act_on_list = MAY_PROCESS
    action_form = AgainActionForm

    @admin.display(description="event")
    def kind_and_id(self, event: ProviderEvent) -> str:
        return two_lines(event.kind or "–", event.pk)  # noqa: RUF001  (an en dash)

    @admin.display(description="content")
    def content(self, event: ProviderEvent) -> str:
        return format_html("<pre>{}</pre>", indented(bytes(event.body).decode()))

    def get_queryset(self, request: HttpRequest) -> Any:
        found = super().get_queryset(request)
        match = request.resolver_match
        return found.defer("body") if match and str(match.url_name).endswith("_changelist") else found

    def related(self, row: ProviderEvent) -> Iterator[Link]:
        if row.transaction_id is not None:
            address = list_address("connectors_providerevent", row.transaction_id)
            yield Link("Events about the same transaction", address)
        yield Link("Audit trail", list_address("merchants_auditentry", row.pk))

    def get_urls(self) -> list[URLPattern]:
        return [*self.action_urls("event_id", {"process_again": self.process_again}), *super().get_urls()]

    def has_process_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(MAY_PROCESS)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return {"again_form": AgainForm()} if self.has_process_permission(request) else {}

    @admin.action(description="Process events again", permissions=["process"])
    def process_chosen_again(self, request: HttpRequest, queryset: QuerySet[ProviderEvent]) -> None:
        self._process(request, AgainForm(request.POST), list(queryset.values_list("pk", flat=True)))

    @staff_action("process an event of a provider again", may=MAY_PROCESS, needs_second_person=False)
    def process_again(self, request: HttpRequest, event_id: UUID) -> HttpResponse:
        get_object_or_404(ProviderEvent, pk=event_id)
        form = AgainForm(request.POST)
        self._process(request, form, [event_id])
        if form.errors:
            return self.page_again(request, event_id, again_form=form)
        return redirect("admin:connectors_providerevent_change", event_id)

    def _process(self, request: HttpRequest, form: AgainForm, ids: list[UUID]) -> None:
        if not form.is_valid():
            messages.error(request, "Nothing was processed. Give a reason of at most 255 characters.")
            return
        going = event_reprocessing.process_again(
            ids, actor=person_acting(request), now=clock.now(), reason=form.cleaned_data["reason"]
        )
        if going:
            messages.success(request, f"Queued {counted(going, 'event', 'events')} to process.")
        if going < len(ids):
            waiting = counted(len(ids) - going, "event", "events")
            messages.warning(request, f"{waiting} not queued: already waiting to be processed.")


@admin.register(RefusedCapture)
class RefusedCaptureAdmin(ReadOnlyAdmin):
    """Payments that succeeded without being captured: staff capture them at the provider, or refund them."""

    list_display = ("reference", "amount", "business", "connector", "acquirer_reference", "created_at")
    fields = (*list_display, "amount_captured", "amount_refunded", "account", "expires_at")
    amounts = TransactionAdmin.amounts
    list_select_related = ("business",)
    searches = (by_id(), in_each_business("reference"))
    search_help_text = "ID or full reference of the payment."

    def related(self, row: RefusedCapture) -> Iterator[Link]:
        yield Link("Payment", reverse("admin:payments_transaction_change", args=[row.pk]))
        yield Link("Events", list_address("connectors_providerevent", row.pk))
