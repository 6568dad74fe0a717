"""Forms of unapplied transfers: the filter, and the two decisions."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.list_filters import ListFilter, choices
from kit.form_fields import AccountNumberField, BankField
from merchants.models import Business
from payments.services.transfers.return_destinations import sender_of
from virtual_accounts.models import Transfer, UnappliedMoney, UnappliedMoneyQuerySet
from virtual_accounts.services import unapplied_queries


class UnappliedFilter(ListFilter):
    state = forms.ChoiceField(required=False, choices=choices(UnappliedMoney.State.choices))

    def unapplied(self, business: Business) -> UnappliedMoneyQuerySet:
        """Return the matching transfers. The form must be valid."""
        state = self.cleaned_data["state"]
        found = unapplied_queries.of(business)
        return found.filter(state=state) if state else found


class CreditForm(forms.Form):
    """Credit a transfer to the wallet, with a reason."""

    reason = forms.CharField(max_length=255, help_text="Saved with the decision and in Activity.")


class ReturnForm(forms.Form):
    """Return a transfer by a payout, with a reason. The account is required only if the bank didn't provide it."""

    account_number = AccountNumberField(label="Sender's account number")
    bank_code = BankField(label="Sender's bank")
    reason = forms.CharField(
        max_length=255, help_text="Saved with the decision, and sent to the sender's bank as the narration."
    )

    def __init__(self, *args: Any, transfer: Transfer, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_sender_known(transfer):
            del self.fields["account_number"], self.fields["bank_code"]


def is_sender_known(transfer: Transfer) -> bool:
    """Return whether the bank provided a sender account that payouts can reach."""
    return sender_of(transfer) is not None
