"""Forms with which a dispute is answered."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.dispute_names import KIND_NAMES
from dashboard.ui.forms.amount_form import AmountForm
from dashboard.ui.forms.forms import PageForm
from disputes.services.answers.evidence import LARGEST_FILE, MEDIA_TYPES
from payments.rules.words.dispute_words import LONGEST_TEXT


class EvidenceForm(PageForm):
    """A text, a file, or both."""

    kind = forms.ChoiceField(
        required=False,  # unless there is something to add
        label="What it shows",
        choices=[("", "Choose what the text or file shows"), *KIND_NAMES.items()],
    )
    file = forms.FileField(required=False, label="File")
    text = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        label="Text",
        widget=forms.Textarea,
        help_text="2 to 5 sentences are enough. Card numbers are masked.",
    )
    accepts = ",".join(MEDIA_TYPES)
    largest = LARGEST_FILE

    @property
    def is_empty(self) -> bool:
        return not (self.cleaned_data["text"] or self.cleaned_data["file"])

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = self.cleaned_data
        if (given.get("text") or given.get("file")) and given.get("kind") == "":
            self.add_error("kind", "Choose what the text or file shows.")
        return given

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file and file.size > LARGEST_FILE:
            raise forms.ValidationError("Choose a file of at most 4 MiB.")
        return file


class AcceptForm(AmountForm):
    """How much is conceded: all of it if the amount is empty."""

    action = "accept"
