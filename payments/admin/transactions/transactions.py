"""Read-only admin pages of transactions and card operations."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format

from kit.banks import ACCOUNT_NUMBER
from kit.db.clock import database_now
from kit.money.money import money
from merchants.admin import (
    ReadOnlyInline,
    by_business_name,
    by_id,
    exactly,
    in_each_business,
)
from merchants.admin.base import Link
from merchants.admin.columns import list_address, sentence, two_lines
from merchants.admin.filters import CurrencyFilter
from payments.admin.businesses.fees import in_words
from payments.admin.transactions.refund_accounts import AskingAdmin
from payments.admin.transactions.resolutions import UnansweredFilter
from payments.models import (
    CardOperation,
    SettlementItem,
    Tariff,
    Transaction,
    Transition,
    WatchedAuthorisation,
)
from payments.rules.words.status_names import SETTLEMENT_NAMES, STATUS_NAMES

STAN, RRN = "[0-9]{6}", "[0-9]{12}"


class TransitionInline(ReadOnlyInline):
    model = Transition
    fields = ("attribute", "before_in_words", "after_in_words", "cause", "at")
    readonly_fields = ("before_in_words", "after_in_words")

    @admin.display(description="before")
    def before_in_words(self, transition: Transition) -> str:
        return _state(transition.attribute, transition.before)

    @admin.display(description="after")
    def after_in_words(self, transition: Transition) -> str:
        return _state(transition.attribute, transition.after)


def _state(attribute: str, code: str) -> str:
    """Return the name of a state of a transaction's attribute."""
    names = SETTLEMENT_NAMES if attribute == "settle_status" else STATUS_NAMES
    return sentence(names.get(code, code)) or "–"  # noqa: RUF001  (an en dash)


class OperationInline(ReadOnlyInline):
    model = CardOperation
    fields = (
        "kind",
        "status",
        "amount",
        "reference",
        "destination_account_number",
        "reason",
        "outcome",
        "created_at",
    )
    readonly_fields = ("outcome",)
    amounts, currency = ("amount",), "transaction.currency"
    states: ClassVar = {"status": STATUS_NAMES}

    @admin.display(description="outcome")
    def outcome(self, operation: CardOperation) -> str:
        return operation.outcome_text


class WaitsFilter(admin.SimpleListFilter):
    """Filter pending transactions by what they await. Those that await staff have an index."""

    title = "waits for"
    parameter_name = "waits"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("rail", "Its rail"),
            ("staff", "Staff, because the bank may have deleted it"),
            ("account", "Staff, because the provider needs an account"),
            ("payer", "Its payer, or its capture"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "staff":
            return queryset.filter(
                pk__in=Transaction.objects.beyond_retry_window(at=database_now()).values("pk")
            )
        if self.value() == "account":
            return queryset.filter(pk__in=Transaction.objects.needing_attention().values("pk"))
        awaited = {"rail": ["rail", "reversal"], "payer": ["payer", "capture"]}.get(self.value() or "")
        return queryset.filter(awaiting__in=awaited) if awaited else queryset


def by_refund(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
    """Yield the transactions that have a refund with this reference."""
    for operations in in_each_business("reference")(CardOperation, term):
        yield model._default_manager.filter(pk__in=operations.values("transaction"))


@admin.register(Transaction)
class TransactionAdmin(AskingAdmin):
    groups: ClassVar = {
        "Money": (
            "amount", "currency", "amount_captured", "amount_refunded", "amount_being_refunded", "amount_returned",
            "amount_disputed", "fee", "fee_tax", "stamp_duty", "agreed_fee", "rail_cost",
        ),
        "State": (
            "status", "outcome", "response_code", "awaiting", "refund_status", "settle_status", "disputes_count",
            "captures_at_once", "challenge_preference", "card_number_mismatches", "created_at", "expires_at", "released_at",
            "finished_at",
        ),
        "Rail": (
            "connector", "account", "sent_at", "queries_made", "next_query_at", "query_leased_until", "gateway_code",
            "long_gateway_code", "gateway_recommendation", "system_trace_audit_number", "retrieval_reference_number",
            "authorization_code", "acquirer_reference", "acquirer_transaction_id", "merchant_descriptor",
        ),
        "Customer": (
            "customer_name", "customer_email", "customer_reference", "card_brand", "card_bin", "card_last4",
            "card_expiry_month", "card_expiry_year", "account_number", "bank_code", "session", "payment_ip",
        ),
        "Order": (
            "business", "reference", "request_type", "method", "purpose", "narration", "payment_link", "checkout",
            "metadata", "shown_redirect",
        ),
    }  # fmt: skip
    list_display = (
        "reference",
        "amount",
        "status",
        "result",
        "business",
        "request_type",
        "created_at",
    )
    amounts = (
        "amount",
        "fee",
        "fee_tax",
        "stamp_duty",
        "amount_captured",
        "amount_refunded",
        "amount_being_refunded",
        "amount_returned",
        "amount_disputed",
        "rail_cost",
    )
    states: ClassVar = {
        "status": STATUS_NAMES,
        "refund_status": STATUS_NAMES,
        "settle_status": SETTLEMENT_NAMES,
    }
    list_filter = (UnansweredFilter, WaitsFilter, "status", "request_type", CurrencyFilter)
    unanswered_columns = (
        "reference", "amount", "business", "awaiting", "waiting_for", "queries_made", "connector",
    )  # fmt: skip
    list_select_related = ("business", "session")
    searches = (
        by_id(),
        by_id("payment_link"),
        by_id("checkout"),
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
    exclude = ("fingerprint", "card_number_hash", "response_summary", "fee_rule", "redirect_url")
    readonly_fields = ("outcome", "agreed_fee", "shown_redirect")
    inlines = (TransitionInline, OperationInline)

    @admin.display(description="result")
    def result(self, transaction: Transaction) -> str | None:
        code = transaction.response_code
        return two_lines(transaction.outcome_text, code) if code else None

    @admin.display(description="outcome")
    def outcome(self, transaction: Transaction) -> str:
        return transaction.outcome_text

    @admin.display(description="redirect URL")
    def shown_redirect(self, transaction: Transaction) -> str:
        return transaction.shown_redirect_url

    @admin.display(description="fee rule")
    def agreed_fee(self, transaction: Transaction) -> str:
        return in_words(Tariff(currency=transaction.currency, **transaction.fee_rule))

    def title_of(self, row: Transaction) -> str:
        amount = f"{money(row.amount, row.currency)}, " if row.amount else ""
        return f"{amount}{sentence(row.get_request_type_display()).lower()} {row.reference}"

    def related(self, row: Transaction) -> Iterator[Link]:
        items = SettlementItem.objects.filter(
            transaction=row, is_live=True, operation=None, dispute_step=None
        )
        for item in items.select_related("batch"):
            address = reverse("admin:payments_settlementbatch_change", args=[item.batch_id])
            yield Link(f"Settlement batch of {date_format(item.batch.day)}", address)
        if row.checkout_id is not None:
            checkout = reverse("admin:payments_checkout_change", args=[row.checkout_id])
            yield Link("Checkout", checkout)
        yield Link("Deliveries", list_address("webhooks_delivery", row.pk))
        yield Link("Ledger entries", list_address("ledger_entry", row.pk))
        yield Link("Captures, voids and refunds", list_address("payments_cardoperation", row.pk))
        if WatchedAuthorisation.objects.filter(transaction=row).exists():
            yield Link(
                "Watch of a late or second charge", list_address("payments_watchedauthorisation", row.pk)
            )
        if row.request_type == Transaction.RequestType.PAYOUT:
            yield Link("Payout returns", list_address("payments_payoutreturn", row.pk))
        yield Link("Proposals", f"{list_address('payments_proposal', row.pk)}&state=all")
        yield Link("Audit trail", list_address("merchants_auditentry", row.pk))


class AttentionFilter(admin.SimpleListFilter):
    """Refunds that the provider can't carry out until staff act."""

    title = "needs"
    parameter_name = "needs"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("attention", "Attention of staff")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.needing_attention() if self.value() == "attention" else queryset


@admin.register(CardOperation)
class CardOperationAdmin(AskingAdmin):
    groups: ClassVar = {
        "Operation": ("kind", "amount", "transaction", "business", "reference", "reason"),
        "State": (
            "status", "outcome", "response_code", "attention", "created_at", "sent_at", "finished_at", "queries_made",
            "next_query_at", "query_leased_until",
        ),
        "Rail": (
            "connector", "account", "gateway_code", "long_gateway_code", "system_trace_audit_number",
            "retrieval_reference_number", "acquirer_reference", "acquirer_transaction_id",
        ),
        "Paid to": ("destination_name", "destination_account_number", "destination_bank_code"),
        "Ledger": ("wallet_sequence", "pending_sequence"),
    }  # fmt: skip
    list_display = ("kind", "status", "amount", "transaction", "reference", "outcome", "created_at")
    amounts, currency = ("amount",), "transaction.currency"
    states: ClassVar = {"status": STATUS_NAMES}
    list_filter = (UnansweredFilter, AttentionFilter, "kind", "status")
    unanswered_columns = ("kind", "amount", "transaction", "waiting_for", "queries_made", "reference")
    attention_columns = ("reference", "amount", "transaction", "attention", "waiting_for")
    list_select_related = ("transaction",)
    searches = (
        by_id(),
        by_id("transaction"),
        in_each_business("reference"),
        in_each_business("transaction__reference", business="transaction__business"),
    )
    search_help_text = "ID, full reference, or ID or reference of the transaction."
    exclude = ("fingerprint", "response_summary")
    readonly_fields = ("outcome",)

    def get_list_display(self, request: HttpRequest) -> Any:
        if request.GET.get(AttentionFilter.parameter_name):
            return self._linked(request, self.attention_columns)
        return super().get_list_display(request)

    @admin.display(description="outcome")
    def outcome(self, operation: CardOperation) -> str:
        return operation.outcome_text

    def title_of(self, row: CardOperation) -> str:
        return f"{money(row.amount, row.transaction.currency)}, {row.kind} of {row.transaction.reference}"

    def related(self, row: CardOperation) -> Iterator[Link]:
        yield Link("Deliveries", list_address("webhooks_delivery", row.pk))
        yield Link("Ledger entries", list_address("ledger_entry", row.pk))
        yield Link("Audit trail", list_address("merchants_auditentry", row.pk))
