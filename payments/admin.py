"""Transactions as our own staff see them: everything to look at, nothing to change."""

from typing import Any

from django.contrib import admin

from merchants.admin import ReadOnlyAdmin
from payments.models import CardOperation, Transaction, Transition


class TransitionInline(admin.TabularInline):
    model = Transition
    extra = 0
    can_delete = False

    def has_add_permission(self, request: Any, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: Any, obj: Any = None) -> bool:  # noqa: ARG002
        return False


@admin.register(Transaction)
class TransactionAdmin(ReadOnlyAdmin):
    list_display = (
        "reference",
        "business",
        "request_type",
        "status",
        "response_code",
        "amount",
        "currency",
        "created_at",
    )
    list_filter = ("status", "request_type", "currency")
    list_select_related = ("business",)
    search_fields = ("reference", "id", "retrieval_reference_number", "card_last4", "customer_email")
    exclude = ("fingerprint",)
    inlines = (TransitionInline,)


@admin.register(CardOperation)
class CardOperationAdmin(ReadOnlyAdmin):
    list_display = ("transaction", "kind", "status", "amount", "reference", "created_at")
    list_filter = ("kind", "status")
    list_select_related = ("transaction",)
    search_fields = ("reference", "transaction__reference")
    exclude = ("fingerprint",)
