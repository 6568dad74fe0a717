"""Forms of the decisions about an unapplied transfer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms

from dashboard.ui.forms.forms import PageForm
from kit.money.form_fields import AccountNumberField, BankField
from payments.services.transfers.return_destinations import sender_of
from virtual_accounts.models import Transfer, UnappliedMoney

ACCEPT, CREDIT, RETURN = "accept", "credit", "return"
FormOf = Callable[..., forms.Form]


class CreditForm(PageForm):
    """Credit a transfer to the balance, with a reason."""

    reason = forms.CharField(max_length=255, help_text="Saved with the decision and in Activity.")


class ReturnForm(PageForm):
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


def forms_of(money: UnappliedMoney) -> dict[str, FormOf]:
    """Return the decisions that are possible, with their forms."""
    possible: dict[str, FormOf] = {
        CREDIT: partial(CreditForm, auto_id="credit_%s"),
        RETURN: partial(ReturnForm, auto_id="return_%s", transfer=money.transfer),
    }
    if money.is_short:
        possible[ACCEPT] = partial(CreditForm, auto_id="accept_%s")
    return possible


def is_sender_known(transfer: Transfer) -> bool:
    """Return whether the bank provided a sender account that payouts can reach."""
    return sender_of(transfer) is not None
