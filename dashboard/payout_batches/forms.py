"""Forms of payout batches."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms

from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.forms.forms import PageForm
from kit.api.fields.field_errors import InvalidFields, error
from kit.money.form_fields import AccountNumberField, PastedField, ReferenceField

MOST_FILE_BYTES = 900_000  # the whole form may have a mebibyte
LONGEST_TEXT = 600_000


class NewBatchForm(PageForm):
    """A batch from a spreadsheet: pasted, or uploaded."""

    reference = ReferenceField(label="Reference", widget=forms.HiddenInput, max_length=90)
    title = PastedField(
        max_length=80, label="Title", help_text="The second person and your statement show it."
    )
    currency = forms.ChoiceField(label="Currency")
    rows = forms.CharField(
        required=False, max_length=LONGEST_TEXT, strip=False, label="Rows from your spreadsheet"
    )
    file = forms.FileField(required=False, label="Choose a file")
    source = forms.ChoiceField(required=False, choices=[("paste", "Paste"), ("file", "Upload a file")])

    replaces = forms.UUIDField(required=False, widget=forms.HiddenInput)  # the batch whose rows are edited

    def __init__(self, *args: Any, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "currency", ((each, each) for each in currencies))

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if given.get("source") == "paste":
            given["file"] = None
        if given.get("source") == "file" and not given.get("file") and not self.errors:
            self.add_error("file", "Choose a CSV or XLSX file.")
        elif not given.get("rows", "").strip() and not given.get("file") and not self.errors:
            self.add_error("rows", "Paste rows, or choose a file.")
        if given.get("file") and given["file"].size > MOST_FILE_BYTES:
            self.add_error("file", "Choose a file of at most 900 KB.")
        return given


class ScheduleForm(forms.Form):
    """When a batch is sent: at once, or at a time in the zone of the business."""

    when = forms.ChoiceField(choices=[("now", "As soon as it is approved"), ("later", "On a day")])
    run_at = forms.DateTimeField(required=False)

    def time(self) -> datetime | None:
        """Return when it is sent; None: at once.

        :raises InvalidFields: no time was chosen
        """
        given = self.cleaned_data if self.is_valid() else {}
        if given.get("when") == "now":
            return None
        if not given.get("run_at"):
            raise InvalidFields({"run_at": error("Choose the day and time.", "required")})
        time: datetime = given["run_at"]
        return time


class CorrectionForm(forms.Form):
    """An item as it is corrected."""

    account_number = AccountNumberField(label="Account number")


class ReasonForm(forms.Form):
    """Why an item is paid, or a batch rejected."""

    reason = forms.CharField(max_length=255, label="Reason")
