"""Virtual accounts as our own staff see them: everything to look at, nothing to change. No BVN is shown.

Unapplied money is on a page of `payments`, which carries out what is decided about it.
"""

from django.contrib import admin

from merchants.admin import ReadOnlyAdmin, by_business_name, by_id, exactly, in_each_business
from merchants.admin.base import CurrencyFilter
from virtual_accounts.models import AccountNumber, Session, Transfer, VirtualAccount

ACCOUNT_NUMBER = "[0-9]{10}"


@admin.register(VirtualAccount)
class VirtualAccountAdmin(ReadOnlyAdmin):
    list_display = ("reference", "business", "type", "account_type", "account_number", "status", "created_at")
    list_filter = ("type", "account_type", "status", CurrencyFilter)
    list_select_related = ("business",)
    looks = (
        by_id(),
        in_each_business("reference"),
        exactly("account_number", "numbers", shape=ACCOUNT_NUMBER),
        by_business_name(),
    )
    search_help_text = "Id, whole reference, account number, or name of the business."
    exclude = ("fingerprint", "bvn", "bvn_hash")


@admin.register(AccountNumber)
class AccountNumberAdmin(ReadOnlyAdmin):
    list_display = ("number", "bank_name", "holder", "last_holder", "free_at")
    list_select_related = ("holder", "last_holder")
    looks = (exactly("pk", shape=ACCOUNT_NUMBER), by_id("holder"))
    search_help_text = "Account number, or id of the account that holds it."


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = ("number", "account", "status", "expected_amount", "amount_received", "expires_at")
    amounts = ("expected_amount", "amount_received")
    list_filter = ("status", CurrencyFilter)
    list_select_related = ("number", "account")
    looks = (by_id(), by_id("account"), by_id("payment"), exactly("number", shape=ACCOUNT_NUMBER))
    search_help_text = "Account number, or id of the session, its account or its payment."


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    list_display = ("bank_reference", "number", "amount", "sender_name", "applied", "received_at")
    amounts = ("amount",)
    list_filter = ("applied", "reason", CurrencyFilter)
    list_select_related = ("number",)
    looks = (
        by_id(),
        by_id("account"),
        exactly("bank_reference"),
        exactly("number", shape=ACCOUNT_NUMBER),
    )
    search_help_text = "Whole bank reference, account number, or id of the transfer or its account."
