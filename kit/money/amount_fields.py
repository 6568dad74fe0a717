"""Form fields of amounts, entered in major units and read in the form's currency."""

from typing import Any

from django import forms

from kit.money.amount_input import InvalidAmount, minor_units
from kit.money.money import has_minor_unit, money

LONGEST = 32  # characters of an amount


class AmountField(forms.CharField):
    """An amount such as 4912.00 or NGN 4,912.00. `AmountsForm` reads it, because the currency is another field."""

    def __init__(self, *, allow_zero: bool = False, **options: Any) -> None:
        self.allow_zero = allow_zero
        options.setdefault("widget", forms.TextInput(attrs={"inputmode": "decimal"}))
        super().__init__(max_length=LONGEST, **options)

    def read(self, text: str, currency: str) -> Any:
        """Return minor units, or None for an empty text.

        :raises InvalidAmount: the text isn't an amount in the currency
        """
        return minor_units(text, currency, allow_zero=self.allow_zero) if text else None

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(None if initial is None else str(initial), data)


class StepsField(forms.CharField):
    """Prices of amounts up to a limit, one on each line: "5000.00: 10.00"."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=1_000, widget=forms.Textarea(attrs={"rows": 3}), **options)

    def read(self, text: str, currency: str) -> list[list[int]]:
        """Return [limit, price] pairs in minor units.

        :raises InvalidAmount: a line isn't a limit and a price
        """
        return [_step(line, currency) for line in text.splitlines() if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        return value or ""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(initial or "", data)


class AmountsForm(forms.BaseForm):
    """A form with amounts in the currency of its field `currency`. Errors appear at the amount's field."""

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        currency = cleaned.get("currency") or ""
        for name, field in self.fields.items():
            if isinstance(field, AmountField | StepsField) and name in cleaned:
                self._read(name, field, cleaned, currency)
        return cleaned

    def _read(
        self, name: str, field: AmountField | StepsField, cleaned: dict[str, Any], currency: str
    ) -> None:
        text = cleaned.pop(name)
        if not has_minor_unit(currency):
            return  # the currency has an error of its own
        try:
            cleaned[name] = field.read(text, currency)
        except InvalidAmount as refusal:
            self.add_error(name, str(refusal))


def steps_in_words(steps: list[list[int]], currency: str) -> str:
    """Format steps as pages show them.

    >>> steps_in_words([[500_000, 1_000]], "NGN")
    'NGN 10.00 up to NGN 5,000.00'
    """
    return ", ".join(f"{money(price, currency)} up to {money(limit, currency)}" for limit, price in steps)


def _step(line: str, currency: str) -> list[int]:
    limit, _, price = line.partition(":")
    try:
        return [minor_units(limit, currency), minor_units(price, currency, allow_zero=True)]
    except InvalidAmount:
        raise InvalidAmount("Enter a limit and a price on each line, such as 5000.00: 10.00.") from None
