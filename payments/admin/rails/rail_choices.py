"""Connectors of businesses that override those in the settings."""

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest

from merchants.admin import ReasonForm, by_business_name, by_id
from merchants.people.access import Who
from payments.admin.decisions.submitting import SubmittedForm
from payments.models import Proposal, RailChoice
from payments.services.staff.actions import rights
from payments.services.staff.staff_action import StaffAction


@admin.register(RailChoice)
class RailChoiceAdmin(SubmittedForm):
    """A business's own connectors. An empty field means the connector in the settings; rows are never deleted."""

    adders = changers = Who.STAFF
    list_display = ("business", "card_acquirer", "payout_bank")
    list_select_related = ("business",)
    proposed_as = Proposal.Action.CHOOSE_CONNECTORS
    form = ReasonForm
    searches = (by_id("business"), by_business_name())
    search_help_text = "Name or ID of the business."
    autocomplete_fields = ("business",)

    def get_readonly_fields(self, request: HttpRequest, obj: RailChoice | None = None) -> tuple[str, ...]:
        return () if obj is None else ("business",)

    def action_of(self, obj: RailChoice, form: ModelForm) -> StaffAction:
        return rights.connectors(obj, reason=form.cleaned_data["reason"])

    def added_row(self, obj: RailChoice) -> RailChoice:
        return obj
