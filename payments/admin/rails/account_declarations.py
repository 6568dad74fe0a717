"""Admin pages of declarations that a connector's new address is the account that orders were sent to."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from merchants.admin import ReasonForm, exactly
from payments import rails
from payments.admin.decisions.submitting import SubmittedRowAdmin
from payments.models import AccountDeclaration, Proposal
from payments.services.staff.actions import account_declarations
from payments.services.staff.staff_action import StaffAction


class DeclarationForm(ReasonForm):
    """The account that orders wait for. It is declared to be the one that the connector is configured for now."""

    connector = forms.ChoiceField(choices=[(name, name) for name in {**rails.ACQUIRERS, **rails.BANKS}])
    former = forms.CharField(
        label="Account that orders were sent to",
        max_length=300,
        help_text="As the page of a transaction shows it. Declare it only if the acquirer or bank has confirmed that "
        "its records moved: an order that it doesn't find may be sent again, and paid twice.",
    )


@admin.register(AccountDeclaration)
class AccountDeclarationAdmin(SubmittedRowAdmin):
    """Rows are only added, by two people."""

    list_display = ("connector", "former", "present", "declared_by", "declared_at")
    proposed_as = Proposal.Action.DECLARE_ACCOUNT
    form = DeclarationForm
    searches = (exactly("former", "present", "declared_by"),)
    search_help_text = "Full account, or who declared it."
    ordering: ClassVar = ("-id",)

    def get_fields(self, request: HttpRequest, obj: AccountDeclaration | None = None) -> Any:
        return ("connector", "former", "reason") if obj is None else self.list_display

    def get_readonly_fields(self, request: HttpRequest, obj: AccountDeclaration | None = None) -> Any:
        return super().get_readonly_fields(request, obj) if obj else ()

    def action_of(self, obj: AccountDeclaration, form: Any) -> StaffAction:
        given = form.cleaned_data
        return account_declarations.declaration(
            connector=given["connector"], former=given["former"], reason=given["reason"]
        )

    def added_row(self, obj: AccountDeclaration) -> AccountDeclaration:
        return AccountDeclaration.objects.latest("pk")
