"""Admin pages of ledger entries. Adding an entry is a top-up."""

from typing import Any

from django.contrib import admin

from ledger import admin as ledger
from ledger.models import Entry
from payments.admin.submitting import SubmittedRowAdmin
from payments.models import Proposal
from payments.services.staff import staff_actions
from payments.services.staff.staff_action import StaffAction


@admin.register(Entry)
class EntryAdmin(SubmittedRowAdmin, ledger.EntryAdmin):
    """Adding an entry tops up a wallet."""

    proposed_as = Proposal.Action.TOP_UP
    refused_field = "amount"

    def action_of(self, obj: Entry, form: Any) -> StaffAction:
        return staff_actions.top_up(
            business=form.cleaned_data["business"],
            currency=obj.currency,
            amount=form.cleaned_data["amount"],
            cause=obj.cause,
            reason=obj.note,
        )

    def added_row(self, obj: Entry) -> Entry:
        return Entry.objects.get(kind=Entry.Kind.TOP_UP, cause=obj.cause)
