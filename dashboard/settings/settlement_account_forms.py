"""Forms of the settlement account: the account itself, and its schedule. The contract names the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from dashboard.ui.forms.forms import PageForm
from kit.money.amount_input import InvalidAmount, minor_units
from kit.money.form_fields import AccountNumberField, BankField
from kit.money.money import money
from payments.models import SettlementAccount
from payments.rules.settlement.payout_days import WEEKDAYS


class AccountForm(PageForm):
    """A bank account of the business. The bank is asked for the holder's name."""

    bank_code = BankField(label="Bank")
    account_number = AccountNumberField(label="Account number")


class ScheduleForm(PageForm):
    """When the wallet is paid out, and how much of it. Fields are named after the columns."""

    pays = forms.ChoiceField(label="Pay out automatically", choices=SettlementAccount.Pays.choices)
    weekday = forms.TypedChoiceField(
        label="Weekday",
        choices=[("", "Choose a day"), *((str(n), name) for n, name in enumerate(WEEKDAYS))],
        coerce=int,
        empty_value=None,
        required=False,
        help_text="Only for “Weekly”. If banks are closed on that day, the payout follows on the next day.",
    )
    minimum = forms.CharField(
        label="Minimum amount",
        max_length=24,
        required=False,
        help_text="Smaller amounts wait for a later day.",
    )
    stays = forms.CharField(
        label="What stays in your balance",
        max_length=24,
        required=False,
        help_text="For your own payouts and refunds by bank transfer.",
    )

    currency = ""

    @classmethod
    def of(cls, account: SettlementAccount, data: Mapping[str, Any] | None = None) -> ScheduleForm:
        """Return the form with the stored values, or with what was entered."""
        weekday = "" if account.weekday is None else str(account.weekday)
        initial = {"pays": account.pays, "weekday": weekday}
        amounts = {"minimum": account.minimum, "stays": account.stays}
        initial |= {name: money(amount, account.currency) for name, amount in amounts.items() if amount}
        form = cls(data, initial=initial)
        form.currency = account.currency
        return form

    def clean_minimum(self) -> int:
        return self._amount("minimum")

    def clean_stays(self) -> int:
        return self._amount("stays")

    def _amount(self, name: str) -> int:
        text = self.cleaned_data[name]
        try:
            return minor_units(text, self.currency, allow_zero=True) if text else 0
        except InvalidAmount as refusal:
            raise forms.ValidationError(str(refusal)) from None

    def clean(self) -> dict[str, Any]:
        is_weekly = self.cleaned_data.get("pays") == SettlementAccount.Pays.WEEKLY
        if not is_weekly:
            self.cleaned_data["weekday"] = None
        elif self.cleaned_data.get("weekday") is None and "weekday" not in self.errors:
            self.add_error("weekday", "Choose the weekday.")
        return self.cleaned_data
