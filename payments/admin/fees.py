"""Admin pages of fees: list them, and agree new ones."""

from typing import Any, ClassVar

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest

from kit.money.amount_fields import AmountField, AmountsForm, StepsField, steps_in_words
from kit.money.money import money
from merchants.admin import ReasonForm, by_business_name, by_id, exactly
from merchants.admin.filters import CurrencyFilter
from payments.admin.submitting import SubmittedRowAdmin
from payments.models import Proposal, Tariff
from payments.services.staff import rights
from payments.services.staff.staff_action import StaffAction

FIELDS = (
    "business", "flow", "currency", "is_offered", "is_withdrawn", "basis_points", "fixed", "fixed_waived_below", "cap",
)  # fmt: skip


class TariffForm(AmountsForm, ReasonForm):
    """A new fee. Amounts are entered in major units of its currency."""

    fixed = AmountField(allow_zero=True, help_text="Above the steps, if there are any. 0 for none.")
    fixed_waived_below = AmountField(
        allow_zero=True, help_text="Smaller amounts are charged no fixed part. 0 for none."
    )
    cap = AmountField(allow_zero=True, required=False, help_text="The maximum fee. Leave empty for none.")
    steps = StepsField(
        required=False,
        help_text="The fixed part of amounts up to a limit, one on each line: 5000.00: 10.00",
    )


class TariffColumns:
    """The fee of a tariff in words, for lists."""

    @admin.display(description="fee")
    def fee(self, tariff: Tariff) -> str:
        return in_words(tariff)

    @admin.display(description="steps")
    def steps_shown(self, tariff: Tariff) -> str:
        return steps_in_words(tariff.steps, tariff.currency) or "None"


def in_words(tariff: Tariff) -> str:
    """Describe the fee of a tariff.

    >>> in_words(Tariff(currency="NGN", basis_points=150, fixed=10_000, fixed_waived_below=250_000, cap=200_000))
    '1.5% + NGN 100.00 from NGN 2,500.00, at most NGN 2,000.00'
    >>> in_words(Tariff(currency="NGN"))
    'Free'
    """
    currency = tariff.currency
    fixed = steps_in_words(tariff.steps, currency)
    if tariff.fixed:
        fixed = f"{fixed}, then {money(tariff.fixed, currency)}" if fixed else money(tariff.fixed, currency)
    parts = [f"{tariff.basis_points / 100:g}%"] if tariff.basis_points else []
    shown = " + ".join([*parts, *([fixed] if fixed else [])]) or "Free"
    if fixed and tariff.fixed_waived_below:
        shown += f" from {money(tariff.fixed_waived_below, currency)}"
    return shown if tariff.cap is None else f"{shown}, at most {money(tariff.cap, currency)}"


@admin.register(Tariff)
class TariffAdmin(TariffColumns, SubmittedRowAdmin):
    """A new row changes a fee from now on. Earlier rows are kept."""

    list_display = (
        "business",
        "flow",
        "currency",
        "fee",
        "is_offered",
        "is_withdrawn",
        "valid_from",
        "agreed_by",
    )
    list_filter = ("flow", CurrencyFilter)
    list_select_related = ("business",)
    proposed_as = Proposal.Action.AGREE_FEE
    form = TariffForm
    amounts: ClassVar = ("fixed", "fixed_waived_below", "cap")
    searches = (by_id("business"), by_business_name(), exactly("agreed_by"))
    search_help_text = "Name or ID of the business, or who agreed it."
    autocomplete_fields = ("business",)
    ordering = ("-id",)

    def get_fields(self, request: HttpRequest, obj: Tariff | None = None) -> Any:
        if obj is None:
            return (*FIELDS, "steps", "reason")
        return self._formatted((*FIELDS, "steps_shown", "valid_from", "agreed_by"))

    def get_readonly_fields(self, request: HttpRequest, obj: Tariff | None = None) -> Any:
        return [*super().get_readonly_fields(request, obj), "steps_shown"] if obj else ()

    def action_of(self, obj: Tariff, form: ModelForm) -> StaffAction:
        return rights.fee(obj, reason=form.cleaned_data["reason"])

    def added_row(self, obj: Tariff) -> Tariff:
        return Tariff.objects.latest("pk")
