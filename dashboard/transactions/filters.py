"""Filters of the transaction lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import CharField, Func, Q, QuerySet
from django.http import QueryDict

from dashboard.search.objects import KIND_OF
from dashboard.search.queries import ids_for_list
from dashboard.search.terms import LONGEST_SEARCH
from dashboard.ui.lists.amount_filters import AmountFilter
from dashboard.ui.lists.list_filters import choices
from kit.money.form_fields import PastedField
from merchants.models import Business
from payments.models import CardOperation, Transaction
from payments.rules.outcomes import MISMATCH_CODE
from payments.rules.words.status_names import STATUS_NAMES

INVALID_CODE = "Enter five digits, such as 20051."

Status, Awaiting, RefundStatus = Transaction.Status, Transaction.Awaiting, Transaction.RefundStatus

METHOD_NAMES = {Transaction.Method.CARD: "Card", Transaction.Method.VIRTUAL_ACCOUNT: "Bank transfer"}

# Values of the status filter that are no status of the API: what else must hold of the status.
AUTHORISED, REFUNDED, RETURNED = "authorised", "refunded", "returned"
AWAITING_APPROVAL, MISMATCH = "awaiting_approval", "mismatch"
NARROWER = {
    AUTHORISED: (Status.PENDING, Q(awaiting=Awaiting.CAPTURE)),
    REFUNDED: (Status.SUCCESS, Q(refund_status__in=[RefundStatus.PARTIALLY_REFUNDED, RefundStatus.REFUNDED])),
    AWAITING_APPROVAL: (Status.PENDING, Q(awaiting=Awaiting.APPROVAL)),
    MISMATCH: (Status.FAILED, Q(response_code=MISMATCH_CODE)),
    RETURNED: (Status.SUCCESS, Q(amount_returned__gt=0)),
}


class TransactionFilter(AmountFilter):
    """Search, status, days, amount and response code."""

    listed_type: str  # of the list, without the filter
    shown_with: Sequence[str] = ("session__transfer",)  # what the list shows of other tables

    q = PastedField(required=False, max_length=LONGEST_SEARCH, label="Search")
    status = forms.ChoiceField(
        required=False,
        choices=choices(
            [
                *((status, STATUS_NAMES[status]) for status in Status.values),
                (AUTHORISED, "Authorised"),
                (AWAITING_APPROVAL, "Awaiting approval"),
                (MISMATCH, STATUS_NAMES["mismatch"]),
                (REFUNDED, "Refunded"),
                (RETURNED, "Returned"),
            ]
        ),
    )
    code = forms.RegexField(
        r"\A[0-9]{5}\Z",
        required=False,
        max_length=5,
        label="Response code",
        error_messages={"invalid": INVALID_CODE},
    )

    field_order: Sequence[str] | None = ("q", "status", "since", "until")

    def __init__(self, *args: Any, business: Business, **kwargs: Any) -> None:
        super().__init__(*args, business=business, currencies=business.currencies, **kwargs)

    def indexed(self, transactions: QuerySet[Transaction], **instead: str) -> QuerySet[Transaction]:
        """Apply what an index carries: type, status, payment link and days. `instead` replaces a value of the filter."""
        wanted = {**self.cleaned_data, **instead}
        if wanted.get("payment_link_id"):
            transactions = transactions.filter(payment_link=wanted["payment_link_id"])
        status, _ = NARROWER.get(wanted["status"], (wanted["status"], Q()))
        for name, value in {"request_type": wanted.get("request_type"), "status": status}.items():
            if value:
                transactions = transactions.filter(**{name: _literal(value)})
        return self.of_days(transactions, status=wanted["status"])

    def of_days(self, transactions: QuerySet[Transaction], *, status: str) -> QuerySet[Transaction]:
        """Return the transactions of the period."""
        return self.in_period(transactions)

    def unindexed(self, **instead: str) -> Q:
        """Return the condition of what no index carries; empty if the filter has none of it."""
        wanted = {**self.cleaned_data, **instead}
        _, condition = NARROWER.get(wanted["status"], ("", Q()))
        if wanted.get("method"):
            condition &= Q(method=_literal(wanted["method"]))
        if wanted["amount_from"] or wanted["amount_to"] or wanted["currency"]:
            condition &= Q(currency=wanted["currency"] or self.main_currency)
        if wanted["amount_from"]:
            condition &= Q(amount__gte=wanted["amount_from"])
        if wanted["amount_to"]:
            condition &= Q(amount__lte=wanted["amount_to"])
        return condition & Q(response_code=wanted["code"]) if wanted["code"] else condition

    def narrow(self, transactions: QuerySet[Transaction], **instead: str) -> QuerySet[Transaction]:
        """Apply everything but the search. The form must be valid."""
        return self.indexed(transactions, **instead).filter(self.unindexed(**instead))


def sources(
    form: TransactionFilter, *, business: Business, found: Sequence[Q] | None = None, **instead: str
) -> list[QuerySet[Transaction]]:
    """Return the matching transactions: one queryset, or one for each meaning of the search text.

    `found` are the meanings if they are already known. `instead` replaces values of the filter.
    """
    mine = form.narrow(Transaction.objects.of(business), **instead)
    if not form.cleaned_data["q"]:
        return [mine]
    if found is None:
        found = search_of(form, business=business, is_of_any_day=form.cleaned_data["status"] == RETURNED)
    return [mine.filter(meaning) for meaning in found]


def search_of(form: TransactionFilter, *, business: Business, is_of_any_day: bool = False) -> list[Q]:
    """Return the meanings of the search text in the form, for the transactions of its period; empty if it has none."""
    text = form.cleaned_data["q"]
    if not text:
        return []
    indexed = ids_for_list(
        business, text, kinds=set(KIND_OF.values()), **({} if is_of_any_day else form.id_range)
    )
    return [*meanings(text, business=business), Q(pk__in=indexed)]


def meanings(text: str, *, business: Business) -> list[Q]:
    """Return the possible meanings of a search text that find a transaction before the search has indexed it.

    Each condition has its own index.
    """
    found = [
        Q(reference=text),
        Q(pk__in=CardOperation.objects.filter(business=business, reference=text).values("transaction")),
    ]
    if re.fullmatch(r"[0-9]{4}", text):
        found.append(Q(card_last4=text))
    if re.fullmatch(r"[0-9]{6}", text):
        found.append(Q(system_trace_audit_number=text))
    if re.fullmatch(r"[0-9]{12}", text):  # an RRN ends with the STAN, which has the index
        found.append(Q(system_trace_audit_number=text[-6:], retrieval_reference_number=text))
    if "@" in text:
        # The partial index leaves out empty addresses. PostgreSQL uses it only if the query does so too.
        found.append(Q(customer_email__iexact=text) & ~Q(customer_email=""))
    with suppress(ValueError):
        found.append(Q(pk=UUID(text)))
    return found


def form_of(kind: type[TransactionFilter], query: QueryDict, *, business: Business) -> TransactionFilter:
    form = kind(query, business=business)
    form.is_valid()
    return form


def _literal(choice: str) -> Func:
    """Return one of our own choices as a literal of the SQL statement.

    As a parameter, all choices would share one prepared plan: right for frequent values, but for values that don't
    occur it would read all rows of the business.
    """
    return Func(template=f"'{choice}'", output_field=CharField())
