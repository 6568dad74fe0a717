"""Admin pages of virtual accounts, read-only and without BVNs.

The pages of unapplied money and of unclaimed transfers are part of `payments`, which decides about them.
"""

from typing import ClassVar

from django.contrib import admin

from kit.banks import ACCOUNT_NUMBER
from merchants.admin import ReadOnlyAdmin, by_business_name, by_id, exactly, in_each_business
from merchants.admin.columns import two_lines
from merchants.admin.filters import CurrencyFilter, FilledFilter
from virtual_accounts.models import (
    AccountNumber,
    ProviderMessage,
    Session,
    Transfer,
    VirtualAccount,
)


@admin.register(VirtualAccount)
class VirtualAccountAdmin(ReadOnlyAdmin):
    groups: ClassVar = {
        "Account": (
            "account_number", "bank_name", "bank_code", "currency", "type", "account_type", "status", "opening",
            "provider_account", "created_at", "deactivated_at",
        ),
        "Holder": (
            "first_name", "middle_name", "last_name", "business_name", "email", "phone_number", "date_of_birth", "gender",
            "address", "bvn_last4",
        ),
        "Business": ("business", "reference", "metadata"),
    }  # fmt: skip
    list_display = ("reference", "account_number", "status", "business", "type", "account_type", "created_at")
    states: ClassVar = {"status": {}}
    list_filter = ("type", "account_type", "status", CurrencyFilter)
    list_select_related = ("business",)
    searches = (
        by_id(),
        in_each_business("reference"),
        exactly("account_number", "numbers", shape=ACCOUNT_NUMBER.pattern),
        by_business_name(),
    )
    search_help_text = "ID, full reference, account number, or name of the business."
    exclude = ("fingerprint", "bvn", "bvn_hash")


@admin.register(AccountNumber)
class AccountNumberAdmin(ReadOnlyAdmin):
    list_display = ("number", "bank_name", "holder", "last_holder", "free_at")
    list_select_related = ("holder", "last_holder")
    searches = (exactly("pk", shape=ACCOUNT_NUMBER.pattern), by_id("holder"))
    search_help_text = "Account number, or ID of the account that holds it."


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = ("number_and_account", "status", "expected_amount", "amount_received", "expires_at")
    amounts = ("expected_amount", "amount_received")
    states: ClassVar = {"status": {}}
    list_filter = ("status", CurrencyFilter)
    list_select_related = ("number", "account")
    searches = (by_id(), by_id("account"), by_id("payment"), exactly("number", shape=ACCOUNT_NUMBER.pattern))
    search_help_text = "Account number, or ID of the session, its account or its payment."

    @admin.display(description="account number")
    def number_and_account(self, session: Session) -> str:
        return two_lines(session.number_id, session.account)


class UnansweredFilter(FilledFilter):
    """Filter by whether the account provider has responded."""

    title = "response"
    parameter_name = "answer"
    column = "answered_at"
    empty, filled = ("none", "No response yet"), ("given", "Responded")


@admin.register(ProviderMessage)
class ProviderMessageAdmin(ReadOnlyAdmin):
    list_display = (
        "kind",
        "account",
        "created_at",
        "attempts_made",
        "last_error",
        "next_attempt_at",
        "answered_at",
    )
    list_filter = (UnansweredFilter, "kind")
    list_select_related = ("account",)
    searches = (by_id("account"), exactly("account__account_number", shape=ACCOUNT_NUMBER.pattern))
    search_help_text = "Account number, or ID of the account."


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    groups: ClassVar = {
        "Transfer": ("amount", "currency", "received_at", "bank_reference", "narration", "extra_members"),
        "Sender": ("sender_name", "sender_account_number", "sender_bank_code"),
        "Paid into": (
            "account",
            "number",
            "session",
            "provider_account",
            "provider_session",
            "applied",
            "reason",
        ),
    }
    list_display = ("sender_name", "amount", "applied", "number", "bank_reference", "received_at")
    amounts = ("amount",)
    states: ClassVar = {"applied": {}}
    list_filter = ("applied", "reason", CurrencyFilter)
    list_select_related = ("number",)
    searches = (
        by_id(),
        by_id("account"),
        exactly("bank_reference"),
        exactly("number", shape=ACCOUNT_NUMBER.pattern),
    )
    search_help_text = "Full bank reference, account number, or ID of the transfer or its account."
