"""Payouts that a bank gave back after success: noted here, by whoever has the permission to add reversals."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from merchants.admin import ReadOnlyAdmin, by_id, exactly, in_each_business
from merchants.callers import person_acting
from payments.models import Reversal, Transaction
from payments.services import reversals


class ReversalForm(forms.ModelForm):
    """A successful payout, and why its money came back."""

    class Meta:
        model = Reversal
        fields = ("transaction", "reason")

    def clean_transaction(self) -> Transaction:
        transaction: Transaction = self.cleaned_data["transaction"]
        if not reversals.can_be_reversed(transaction):
            raise ValidationError("Only a successful payout can be reversed.")
        return transaction


@admin.register(Reversal)
class ReversalAdmin(ReadOnlyAdmin):
    """Adding one credits the payout's amount to the wallet; the payout's status stays as it was told."""

    form = ReversalForm
    list_display = ("transaction", "reason", "actor", "at")
    list_select_related = ("transaction",)
    looks = (
        by_id("transaction"),
        in_each_business("transaction__reference", business="transaction__business"),
        exactly("actor"),
    )
    search_help_text = "Id or whole reference of the payout, or who noted it."
    autocomplete_fields = ("transaction",)

    def has_add_permission(self, request: HttpRequest) -> bool:  # type: ignore[override]
        return admin.ModelAdmin.has_add_permission(self, request)

    def save_model(self, request: HttpRequest, obj: Reversal, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        reversals.reverse(
            transaction_id=obj.transaction_id,
            reason=obj.reason,
            actor=person_acting(request),
            now=timezone.now(),
        )
