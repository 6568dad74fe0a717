"""Virtual accounts as our own staff see them: everything to look at, nothing to change. No BVN is shown."""

from django.contrib import admin

from merchants.admin import ReadOnlyAdmin
from virtual_accounts.models import AccountNumber, Session, Transfer, UnappliedMoney, VirtualAccount


@admin.register(VirtualAccount)
class VirtualAccountAdmin(ReadOnlyAdmin):
    list_display = ("reference", "business", "type", "account_type", "account_number", "status", "created_at")
    list_filter = ("type", "account_type", "status", "currency")
    list_select_related = ("business",)
    search_fields = ("reference", "id", "account_number", "email")
    exclude = ("fingerprint", "bvn", "bvn_hash")


@admin.register(AccountNumber)
class AccountNumberAdmin(ReadOnlyAdmin):
    list_display = ("number", "bank_name", "holder", "last_holder", "free_at")
    list_select_related = ("holder", "last_holder")
    search_fields = ("number",)
    show_full_result_count = False


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = ("number", "account", "status", "expected_amount", "amount_received", "expires_at")
    list_filter = ("status", "currency")
    list_select_related = ("number", "account")
    search_fields = ("number__number", "id")


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    list_display = ("bank_reference", "number", "amount", "currency", "sender_name", "applied", "received_at")
    list_filter = ("applied", "reason", "currency")
    list_select_related = ("number",)
    search_fields = ("bank_reference", "number__number", "sender_name")


@admin.register(UnappliedMoney)
class UnappliedMoneyAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "business", "amount", "currency", "state", "actor", "decided_at")
    list_filter = ("state", "currency")
    list_select_related = ("business",)
    search_fields = ("transfer__bank_reference", "transfer__number__number", "business__name")
