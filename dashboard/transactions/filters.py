"""Filters of the transaction lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from django import forms
from django.db.models import CharField, Func, Q, QuerySet
from django.http import QueryDict

from dashboard.ui.list_filters import PeriodFilter, choices
from dashboard.ui.metadata_search import LONGEST_SEARCH, with_metadata
from merchants.models import Business
from payments.identifiers import earliest_id
from payments.models import CardOperation, Transaction
from payments.status_names import STATUS_NAMES


class TransactionFilter(PeriodFilter):
    """Search, status and days. Days are UTC."""

    q = forms.CharField(required=False, max_length=LONGEST_SEARCH, label="Search")
    status = forms.ChoiceField(
        required=False,
        choices=choices([(status, STATUS_NAMES[status]) for status in Transaction.Status.values]),
    )

    field_order: Sequence[str] | None = ("q", "status", "since", "until")

    def narrow(self, transactions: QuerySet[Transaction]) -> QuerySet[Transaction]:
        """Apply everything but the search. The form must be valid."""
        wanted = self.cleaned_data
        for name in ("status", "method", "request_type"):
            if wanted.get(name):
                transactions = transactions.filter(**{name: _literal(wanted[name])})
        # By id, which starts with the creation time: every index of these lists ends with it.
        if self.begin:
            transactions = transactions.filter(id__gte=earliest_id(self.begin))
        if self.end:
            transactions = transactions.filter(id__lt=earliest_id(self.end))
        return transactions


def sources(form: TransactionFilter, *, business: Business) -> list[QuerySet[Transaction]]:
    """Return the matching transactions: one queryset, or one for each meaning of the search text."""
    mine = form.narrow(Transaction.objects.of(business))
    text = form.cleaned_data["q"]
    return [mine.filter(meaning) for meaning in meanings(text, business=business)] if text else [mine]


def meanings(text: str, *, business: Business) -> list[Q]:
    """Return the possible meanings of a search text. Each condition has its own index."""
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
    return found + with_metadata(text, model=Transaction, business=business)


def form_of(kind: type[TransactionFilter], query: QueryDict) -> TransactionFilter:
    form = kind(query)
    form.is_valid()
    return form


def _literal(choice: str) -> Func:
    """Return one of our own choices as a literal of the SQL statement.

    As a parameter, all choices would share one prepared plan: right for frequent values, but for values that don't
    occur it would read all rows of the business.
    """
    return Func(template=f"'{choice}'", output_field=CharField())
