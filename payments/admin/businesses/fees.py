"""Admin pages of fees: list them, and agree new ones."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from kit.money.amount_fields import AmountField, AmountsForm, StepsField, steps_in_words
from kit.money.money import money
from merchants.admin import ReasonForm, by_business_name, by_id, exactly
from merchants.admin.filters import CurrencyFilter
from payments.admin.decisions.submitting import SubmittedRowAdmin
from payments.models import Proposal, Tariff
from payments.rules.fees import HOME_CURRENCY, WHOLE
from payments.services.staff.actions import rights
from payments.services.staff.staff_action import StaffAction

FIELDS = (
    "business", "flow", "currency", "is_offered", "is_withdrawn", "basis_points", "fixed", "fixed_waived_below", "cap",
    "tax_basis_points", "stamp_duty", "stamp_duty_from",
)  # fmt: skip
TAX_RATES = ((750, f"7.5 %, VAT on fees in {HOME_CURRENCY}"), (0, "No tax"))  # offered


class RateInput(forms.NumberInput):
    """A rate that offers those in use, by currency."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        entry = super().render(name, value, (attrs or {}) | {"list": f"{name}-offered"}, renderer)
        offered = format_html_join("", '<option value="{}">{}</option>', TAX_RATES)
        return format_html('{}<datalist id="{}-offered">{}</datalist>', entry, name, offered)


class TariffForm(AmountsForm, ReasonForm):
    """A new fee. Amounts are entered in major units of its currency."""

    fixed = AmountField(allow_zero=True, help_text="Above the steps, if there are any. 0 for none.")
    fixed_waived_below = AmountField(
        allow_zero=True, help_text="Smaller amounts are charged no fixed part. 0 for none."
    )
    cap = AmountField(allow_zero=True, required=False, help_text="The maximum fee. Leave empty for none.")
    stamp_duty = AmountField(
        allow_zero=True,
        required=False,
        initial="0",
        help_text="A fixed tax on each payout: 50.00 in NGN, if your bank leaves it to you. 0 for none.",
    )
    stamp_duty_from = AmountField(
        allow_zero=True,
        required=False,
        initial="0",
        help_text="Smaller payouts have no stamp duty: 10,000.00 in NGN. Salaries have none.",
    )
    tax_basis_points = forms.IntegerField(
        min_value=0,
        max_value=WHOLE,
        initial=0,
        widget=RateInput,
        label="Tax on the fee, basis points",
        help_text="Charged in addition to the fee. 750 is 7.5 %, the VAT on fees in NGN. 0 for none.",
    )
    steps = StepsField(
        required=False,
        help_text="The fixed part of amounts up to a limit, one on each line: 5000.00: 10.00",
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        left_empty = {name: 0 for name in ("stamp_duty", "stamp_duty_from") if cleaned.get(name) is None}
        return cleaned | left_empty


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
    >>> in_words(Tariff(currency="NGN", basis_points=150, tax_basis_points=750))
    '1.5%, plus 7.5% tax'
    """
    currency = tariff.currency
    fixed = steps_in_words(tariff.steps, currency)
    if tariff.fixed:
        fixed = f"{fixed}, then {money(tariff.fixed, currency)}" if fixed else money(tariff.fixed, currency)
    parts = [f"{tariff.basis_points / 100:g}%"] if tariff.basis_points else []
    shown = " + ".join([*parts, *([fixed] if fixed else [])]) or "Free"
    if fixed and tariff.fixed_waived_below:
        shown += f" from {money(tariff.fixed_waived_below, currency)}"
    if tariff.cap is not None:
        shown += f", at most {money(tariff.cap, currency)}"
    if tariff.tax_basis_points:
        shown += f", plus {tariff.tax_basis_points / 100:g}% tax"
    if tariff.stamp_duty:
        begins = money(tariff.stamp_duty_from, currency)
        shown += f", plus stamp duty of {money(tariff.stamp_duty, currency)} from {begins}"
    return shown


@admin.register(Tariff)
class TariffAdmin(TariffColumns, SubmittedRowAdmin):
    """A new row changes a fee from now on. Earlier rows are kept."""

    groups: ClassVar = {
        "For": ("business", "flow", "currency", "is_offered", "is_withdrawn", "valid_from", "agreed_by"),
        "Fee": ("basis_points", "fixed", "fixed_waived_below", "cap", "steps_shown"),
        "Taxes": ("tax_basis_points", "stamp_duty", "stamp_duty_from"),
    }
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
    amounts: ClassVar = ("fixed", "fixed_waived_below", "cap", "stamp_duty", "stamp_duty_from")
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
