"""Forms of guest links."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.models import GuestLink
from dashboard.statements.months import Month
from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.forms.forms import PageForm
from kit.db.card_number_fields import refuse_card_number
from kit.money.form_fields import PastedField


class GuestLinkForm(PageForm):
    """Whom the link is for, which months it shows, and for how long."""

    name = PastedField(
        label="Name or reason", max_length=GuestLink.LONGEST_NAME, validators=[refuse_card_number]
    )
    first = forms.ChoiceField(label="First month")
    last = forms.ChoiceField(label="Last month")
    days = forms.IntegerField(
        label="Days until it expires", min_value=1, max_value=GuestLink.MOST_DAYS, initial=30
    )

    def __init__(self, *args: Any, months: list[Month], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._months = {str(each): each for each in months}
        for name in ("first", "last"):
            set_choices(self, name, ((str(each), each.name) for each in months))

    def clean_first(self) -> Month:
        return self._months[self.cleaned_data["first"]]

    def clean_last(self) -> Month:
        return self._months[self.cleaned_data["last"]]

    def clean(self) -> dict[str, Any]:
        first, last = self.cleaned_data.get("first"), self.cleaned_data.get("last")
        if first and last and last < first:
            self.add_error("last", f"Choose {first.name} or a later month.")
        return self.cleaned_data
