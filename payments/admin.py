"""Transactions and prices as our own staff see them. What happened is there to look at, not to change."""

from typing import Any

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from merchants.admin import ReadOnlyAdmin, ReadOnlyInline
from merchants.callers import person_acting
from payments.models import CardOperation, Tariff, Transaction, Transition
from payments.services import tariffs


class TransitionInline(ReadOnlyInline):
    model = Transition


@admin.register(Transaction)
class TransactionAdmin(ReadOnlyAdmin):
    list_display = (
        "reference",
        "business",
        "request_type",
        "status",
        "response_code",
        "amount",
        "currency",
        "created_at",
    )
    list_filter = ("status", "request_type", "currency")
    list_select_related = ("business",)
    search_fields = ("reference", "id", "retrieval_reference_number", "card_last4", "customer_email")
    exclude = ("fingerprint",)
    inlines = (TransitionInline,)


@admin.register(CardOperation)
class CardOperationAdmin(ReadOnlyAdmin):
    list_display = ("transaction", "kind", "status", "amount", "reference", "created_at")
    list_filter = ("kind", "status")
    list_select_related = ("transaction",)
    search_fields = ("reference", "transaction__reference")
    exclude = ("fingerprint",)


@admin.register(Tariff)
class TariffAdmin(ReadOnlyAdmin):
    """Prices are changed by adding a row: it counts from now on, and the ones before stay to be read."""

    list_display = (
        "business",
        "flow",
        "is_withdrawn",
        "basis_points",
        "fixed",
        "fixed_waived_below",
        "cap",
        "steps",
        "valid_from",
        "agreed_by",
    )
    list_filter = ("flow",)
    list_select_related = ("business",)
    search_fields = ("business__name", "agreed_by")
    autocomplete_fields = ("business",)
    ordering = ("-id",)

    def has_add_permission(self, request: HttpRequest) -> bool:  # type: ignore[override]
        return admin.ModelAdmin.has_add_permission(self, request)

    def get_exclude(self, request: HttpRequest, obj: Tariff | None = None) -> tuple[str, ...]:  # noqa: ARG002
        return ("valid_from", "agreed_by") if obj is None else ()

    def save_model(self, request: HttpRequest, obj: Tariff, form: ModelForm, change: bool) -> None:  # noqa: ARG002, FBT001
        tariffs.agree(obj, actor=person_acting(request), now=timezone.now())

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"steps": []} | super().get_changeform_initial_data(request)
