"""The form with which staff upload a statement of a bank account of ours: previewed first, then imported."""

from typing import Any

from django import forms

from cash.models import BankAccount
from cash.services.imports import Source
from cash.statement_files import FORMATS, InvalidAmount, amount_of
from merchants.admin.previewed_file import PreviewedFileForm


class StatementForm(PreviewedFileForm):
    """A statement to preview, or to import once it was previewed."""

    too_large = "Choose a file of at most 900 KB. Import larger ones with manage.py import_statement."
    field_order = ("account", "file")

    account = forms.ModelChoiceField(BankAccount.objects.order_by("name"))
    format = forms.ChoiceField(choices=[("", "As the file shows"), *FORMATS.items()], required=False)
    opening = forms.CharField(
        label="Opening balance", required=False, max_length=30, help_text="Of a CSV file without balances."
    )
    closing = forms.CharField(label="Closing balance", required=False, max_length=30)
    after_gap = forms.BooleanField(
        label="Import it although a statement before it is missing", required=False
    )

    @property
    def source(self) -> Source:
        given = self.cleaned_data
        return Source(
            file=given["file"],
            name=given["file"].name,
            format=given["format"],
            opening=given["opening"],
            closing=given["closing"],
            may_follow_gap=given["after_gap"],
        )

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        for name in ("opening", "closing"):
            given[name] = self._balance(name)
        return given

    def _balance(self, name: str) -> int | None:
        text, account = self.cleaned_data.get(name), self.cleaned_data.get("account")
        try:
            return amount_of(text, account.currency) if text and account else None
        except InvalidAmount as wrong:
            self.add_error(name, f"{wrong}.")
            return None
