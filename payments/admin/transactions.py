"""Transactions as our own staff see them: everything to look at, nothing to change."""

from django.contrib import admin

from merchants.admin import ReadOnlyAdmin, ReadOnlyInline
from payments.models import CardOperation, Transaction, Transition


class TransitionInline(ReadOnlyInline):
    model = Transition


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
