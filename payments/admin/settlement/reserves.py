"""Admin pages of risk terms and of what is held in reserve."""

from typing import Any, ClassVar

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest

from kit.money.amount_fields import AmountField, AmountsForm
from merchants.admin import ReadOnlyAdmin, ReadOnlyInline, ReasonForm, by_business_name, by_id
from merchants.admin.filters import CurrencyFilter
from payments.admin.decisions.submitting import SubmittedRowAdmin
from payments.models import Proposal, ReserveHold, ReserveReturn, RiskTerms
from payments.services.staff.actions import rights
from payments.services.staff.staff_action import StaffAction

FIELDS = ("business", "currency", "reserve_basis_points", "reserve_days", "reserve_fixed", "negative_limit")


class RiskTermsForm(AmountsForm, ReasonForm):
    """New risk terms. Amounts are entered in major units of their currency."""

    reserve_fixed = AmountField(
        allow_zero=True,
        initial="0",
        help_text="Held back until this much is in the reserve, and kept until a lower amount is agreed. 0 for none.",
    )
    negative_limit = AmountField(
        allow_zero=True,
        required=False,
        help_text="Card refunds may take wallet, pending and reserve together this far below 0. Leave empty for no limit.",
    )


@admin.register(RiskTerms)
class RiskTermsAdmin(SubmittedRowAdmin):
    """A new row changes the terms from now on. What is held keeps its date."""

    list_display = (*FIELDS, "valid_from", "agreed_by")
    list_filter = (CurrencyFilter,)
    list_select_related = ("business",)
    proposed_as = Proposal.Action.AGREE_RISK_TERMS
    form = RiskTermsForm
    amounts: ClassVar = ("reserve_fixed", "negative_limit")
    searches = (by_id("business"), by_business_name())
    search_help_text = "Name or ID of the business."
    autocomplete_fields = ("business",)
    ordering = ("-id",)

    def get_fields(self, request: HttpRequest, obj: RiskTerms | None = None) -> Any:
        return (*FIELDS, "reason") if obj is None else self._formatted((*FIELDS, "valid_from", "agreed_by"))

    def action_of(self, obj: RiskTerms, form: ModelForm) -> StaffAction:
        return rights.risk_terms(obj, reason=form.cleaned_data["reason"])

    def added_row(self, obj: RiskTerms) -> RiskTerms:
        return RiskTerms.objects.latest("pk")


class ReserveReturnInline(ReadOnlyInline):
    model = ReserveReturn
    amounts, currency = ("amount",), "hold.currency"
    fields = ("amount", "reason", "at")


@admin.register(ReserveHold)
class ReserveHoldAdmin(ReadOnlyAdmin):
    """What is held back of released settlements. Those without a date are of the fixed amount."""

    list_display = ("business", "batch", "amount", "left", "returns_at", "created_at")
    list_select_related = ("business", "batch")
    list_filter = (CurrencyFilter,)
    amounts = ("amount", "left")
    searches = (by_id("batch"), by_id("business"), by_business_name())
    search_help_text = "ID of the settlement batch, or name or ID of the business."
    ordering = ("-pk",)
    inlines = (ReserveReturnInline,)
