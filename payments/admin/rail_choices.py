"""Connectors of businesses that override those in the settings."""

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from merchants.admin import ReasonForm, StaffAdmin, by_business_name, by_id
from merchants.request_actors import person_acting
from payments.models import RailChoice
from payments.services import rail_choices


@admin.register(RailChoice)
class RailChoiceAdmin(StaffAdmin):
    """A business's own connectors. An empty field means the connector in the settings; rows are never deleted."""

    list_display = ("business", "card_acquirer", "payout_bank")
    list_select_related = ("business",)
    form = ReasonForm
    searches = (by_id("business"), by_business_name())
    search_help_text = "Name or ID of the business."
    autocomplete_fields = ("business",)

    def get_readonly_fields(self, request: HttpRequest, obj: RailChoice | None = None) -> tuple[str, ...]:
        return () if obj is None else ("business",)

    def save_model(self, request: HttpRequest, obj: RailChoice, form: ModelForm, change: bool) -> None:
        reason = form.cleaned_data["reason"]
        rail_choices.choose(obj, actor=person_acting(request), now=timezone.now(), reason=reason)
