"""Admin pages of fees: list them, and agree new ones."""

from typing import Any

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from merchants.admin import ReadOnlyAdmin, ReasonForm, by_business_name, by_id, exactly
from merchants.admin.base import CurrencyFilter
from merchants.request_actors import person_acting
from payments.models import Tariff
from payments.services import fee_rules


@admin.register(Tariff)
class TariffAdmin(ReadOnlyAdmin):
    """A new row changes a fee from now on. Earlier rows are kept."""

    list_display = (
        "business",
        "flow",
        "currency",
        "is_offered",
        "is_withdrawn",
        "basis_points",
        "fixed",
        "fixed_waived_below",
        "cap",
        "steps",
        "valid_from",
        "agreed_by",
    )
    list_filter = ("flow", CurrencyFilter)
    list_select_related = ("business",)
    form = ReasonForm
    searches = (by_id("business"), by_business_name(), exactly("agreed_by"))
    search_help_text = "Name or ID of the business, or who agreed it."
    autocomplete_fields = ("business",)
    ordering = ("-id",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def get_fields(self, request: HttpRequest, obj: Tariff | None = None) -> Any:
        fields = super().get_fields(request, obj)
        return fields if obj is None else [name for name in fields if name != "reason"]

    def get_exclude(self, request: HttpRequest, obj: Tariff | None = None) -> tuple[str, ...]:
        return ("valid_from", "agreed_by") if obj is None else ()

    def save_model(self, request: HttpRequest, obj: Tariff, form: ModelForm, change: bool) -> None:
        reason = form.cleaned_data["reason"]
        fee_rules.agree(obj, actor=person_acting(request), now=timezone.now(), reason=reason)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"steps": []} | super().get_changeform_initial_data(request)
