"""Admin pages of settlement accounts and of their payouts."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from merchants.admin import ReadOnlyAdmin, ReadOnlyInline, by_business_name, by_id
from merchants.admin.filters import CurrencyFilter
from payments.models import SettlementAccount, SettlementAccountChange, SettlementPayout


class ChangeInline(ReadOnlyInline):
    model = SettlementAccountChange
    fields = (
        "bank_name", "account_number", "account_name", "state", "made_by", "confirmed_by", "stopped_by", "created_at",
        "applies_at", "decided_at",
    )  # fmt: skip
    readonly_fields = ("bank_name",)


class PayoutInline(ReadOnlyInline):
    model = SettlementPayout
    fields = ("payout", "trigger", "day", "outcome", "reason", "created_at")


@admin.register(SettlementAccount)
class SettlementAccountAdmin(ReadOnlyAdmin):
    """Where settlements are paid to. Only owners change it."""

    groups: ClassVar = {
        "Account": (
            "business",
            "currency",
            "bank_name",
            "account_number",
            "account_name",
            "since",
            "created_at",
        ),
        "Schedule": ("pays", "paid_on", "minimum", "stays", "batches_from", "next_attempt_at"),
        "Failures": ("failures_since", "paused_at", "pause_reason"),
    }
    list_display = ("business", "currency", "bank_name", "account_number", "pays", "paused_at")
    list_filter = (CurrencyFilter, "pays")
    list_select_related = ("business",)
    amounts: ClassVar = ("minimum", "stays")
    searches = (by_id("business"), by_business_name())
    search_help_text = "Name or ID of the business."
    fields = (
        "business", "currency", "bank_name", "account_number", "account_name", "since", "pays", "paid_on",
        "minimum", "stays", "batches_from", "next_attempt_at", "failures_since", "paused_at", "pause_reason",
        "created_at",
    )  # fmt: skip
    readonly_fields = ("bank_name", "paid_on")
    inlines = (ChangeInline, PayoutInline)

    @admin.display(description="weekday")
    def paid_on(self, account: SettlementAccount) -> str:
        return account.weekday_name

    def title_of(self, row: SettlementAccount) -> str:
        return f"{row.currency} settlement account of {row.business}"

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("business")
