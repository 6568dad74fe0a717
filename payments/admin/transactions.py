"""Read-only admin pages of transactions and card operations."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from kit.banks import ACCOUNT_NUMBER
from kit.db.clock import database_now
from merchants.admin import (
    ReadOnlyInline,
    by_business_name,
    by_id,
    exactly,
    in_each_business,
)
from merchants.admin.base import CurrencyFilter
from payments.admin.resolutions import ResolvableAdmin, UnansweredFilter
from payments.models import CardOperation, Transaction, Transition
from payments.status_names import STATUS_NAMES

STAN, RRN = "[0-9]{6}", "[0-9]{12}"


class TransitionInline(ReadOnlyInline):
    model = Transition


class OperationInline(ReadOnlyInline):
    model = CardOperation
    fields = (
        "kind",
        "status",
        "amount",
        "reference",
        "destination_account_number",
        "reason",
        "response_summary",
        "created_at",
    )
    amounts, currency = ("amount",), "transaction.currency"


class WaitsFilter(admin.SimpleListFilter):
    """Filter pending transactions by what they await. Those that await staff have an index."""

    title = "what it waits for"
    parameter_name = "waits"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("rail", "its rail"),
            ("staff", "staff: the bank may have deleted it"),
            ("payer", "its payer, or its capture"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "staff":
            return queryset.filter(
                pk__in=Transaction.objects.beyond_retry_window(at=database_now()).values("pk")
            )
        awaited = {"rail": ["rail", "reversal"], "payer": ["payer", "capture"]}.get(self.value() or "")
        return queryset.filter(awaiting__in=awaited) if awaited else queryset


def by_refund(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
    """Yield the transactions that have a refund with this reference."""
    for operations in in_each_business("reference")(CardOperation, term):
        yield model._default_manager.filter(pk__in=operations.values("transaction"))


@admin.register(Transaction)
class TransactionAdmin(ResolvableAdmin):
    list_display = (
        "reference",
        "amount",
        "business",
        "request_type",
        "status",
        "response_code",
        "created_at",
    )
    amounts = (
        "amount",
        "fee",
        "amount_captured",
        "amount_refunded",
        "amount_being_refunded",
        "amount_returned",
    )
    names: ClassVar = {"status": STATUS_NAMES, "refund_status": STATUS_NAMES}
    list_filter = (UnansweredFilter, WaitsFilter, "status", "request_type", CurrencyFilter)
    unanswered_columns = (
        "reference", "amount", "business", "awaiting", "waiting_for", "queries_made", "connector",
    )  # fmt: skip
    list_select_related = ("business",)
    searches = (
        by_id(),
        in_each_business("reference"),
        in_each_business("card_last4", shape="[0-9]{4}"),
        in_each_business("system_trace_audit_number", shape=STAN),
        # An RRN ends with the STAN, which has the index.
        in_each_business("retrieval_reference_number", shape=RRN, system_trace_audit_number=slice(-6, None)),
        in_each_business("customer_email__iexact", shape=".+@.+"),
        exactly("account_number", "session__number", shape=ACCOUNT_NUMBER.pattern),
        by_refund,
        by_business_name(),
    )
    search_help_text = (
        "Full reference (of a refund too), ID, RRN, STAN, last four digits, email address, account number, or "
        "name of the business."
    )
    exclude = ("fingerprint", "card_number_hash")
    inlines = (TransitionInline, OperationInline)


@admin.register(CardOperation)
class CardOperationAdmin(ResolvableAdmin):
    list_display = ("transaction", "kind", "status", "amount", "reference", "created_at")
    amounts, currency = ("amount",), "transaction.currency"
    names: ClassVar = {"status": STATUS_NAMES}
    list_filter = (UnansweredFilter, "kind", "status")
    unanswered_columns = ("transaction", "kind", "amount", "waiting_for", "queries_made", "reference")
    list_select_related = ("transaction",)
    searches = (
        by_id(),
        by_id("transaction"),
        in_each_business("reference"),
        in_each_business("transaction__reference", business="transaction__business"),
    )
    search_help_text = "ID, full reference, or ID or reference of the transaction."
    exclude = ("fingerprint",)
