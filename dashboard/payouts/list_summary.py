"""What the list of payouts says of other tables: read with its rows, because a page may make few queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet, Subquery, Sum, UUIDField
from django.db.models.functions import Coalesce

from merchants.models import Business
from payments.models import Beneficiary, Transaction
from payments.services.payouts.controls import approvals
from payout_batches.models import PayoutBatch, PayoutBatchItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSummary:
    """How many batches and beneficiaries a business has, and its newest batch that waits for approval, if any does."""

    batches: int
    beneficiaries: int
    waiting: UUID | None
    waiting_title: str | None
    waiting_until: datetime | None
    waiting_number: int | None
    waiting_amount: int | None  # in minor units
    waiting_currency: str | None


PREFIX = "of_list_"  # of the columns beside those of a row


def with_summary(rows: QuerySet[Any], business: Business) -> QuerySet[Any]:
    """Return rows with the columns that `summary_of` reads."""
    waiting = approvals.waiting(business).filter(batch__isnull=False).select_related(None)
    newest = waiting.values("batch")[:1]
    items = PayoutBatchItem.objects.kept().filter(batch=Subquery(newest, output_field=UUIDField()))
    columns = {
        "batches": _number(PayoutBatch.objects.of(business)),
        "beneficiaries": _number(Beneficiary.objects.of(business)),
        "waiting": Subquery(newest, output_field=UUIDField()),
        "waiting_title": Subquery(waiting.values("batch__title")[:1]),
        "waiting_until": Subquery(waiting.values("expires_at")[:1]),
        "waiting_number": Subquery(_grouped(items, "batch").annotate(n=Count("pk")).values("n")),
        "waiting_amount": Subquery(_grouped(items, "batch").annotate(n=Sum("amount")).values("n")),
        "waiting_currency": Subquery(waiting.values("batch__currency")[:1]),
    }
    found: QuerySet[Any] = rows.annotate(**{f"{PREFIX}{name}": each for name, each in columns.items()})
    return found


def summary_of(business: Business, rows: Sequence[Any]) -> ListSummary:
    """Return the summary that came with rows. Without one, as on a page of returns only, it is queried."""
    found = next((row for row in rows if isinstance(row, Transaction)), None)
    if found is None:
        found = with_summary(Business.objects.filter(pk=business.pk), business).get()
    names = ListSummary.__dataclass_fields__
    return ListSummary(**{name: getattr(found, f"{PREFIX}{name}") for name in names})


def _number(rows: QuerySet[Any]) -> Coalesce:
    return Coalesce(Subquery(_grouped(rows, "business").annotate(n=Count("pk")).values("n")), 0)


def _grouped(rows: QuerySet[Any], by: str) -> QuerySet[Any]:
    return rows.order_by().values(by)
