"""The form with which staff upload an acquirer's file about disputes."""

from typing import Any

from django import forms

from disputes.rules import report_format
from disputes.services.reports import report_files
from merchants.admin.previewed_file import PreviewedFileForm

MOST_ROWS = 1_000


class UploadForm(PreviewedFileForm):
    """A file to preview, or to read once it was previewed."""

    too_large = (
        "Choose a file of at most 900 KB and 1,000 rows. Read larger ones with manage.py read_disputes."
    )

    account = forms.ChoiceField(label="Acquirer", choices=[(name, name) for name in report_files.SEND_FILES])
    file = forms.FileField(
        required=False, widget=forms.FileInput(attrs={"accept": ".csv,text/csv", "required": True})
    )

    def clean_account(self) -> report_files.Account:
        try:
            return report_files.account_of(self.cleaned_data["account"])
        except report_files.SendsNoFiles as problem:
            raise forms.ValidationError(str(problem)) from None

    def clean_file(self) -> Any:
        file = super().clean_file()
        try:
            rows = report_format.read(file.read())
        except report_format.InvalidFile as problem:
            raise forms.ValidationError(str(problem)) from None
        if len(rows) > MOST_ROWS:
            raise forms.ValidationError(self.too_large)
        self.cleaned_data["rows"] = rows
        return file
