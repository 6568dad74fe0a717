"""Monthly invoices of our fees, made from the ledger's postings of fees and taxes.

All invoices of a month are issued together, once, an hour after it ended. An entry of it that is booked even later, because
its process was held up, is on the next invoice. Postings to an account are numbered in the order of their commits.
Numbers are assigned under a lock of the table, so that they have no gaps: an issue that fails has taken none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction as database
from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.db.models.functions import Coalesce

from kit.db import postgresql
from kit.time.time_ordered_ids import new_id
from ledger.models import Account, Entry, Posting
from merchants.models import Business
from payments.models import FeeInvoice, FeeInvoiceLine, InvalidState, Transaction
from payments.rules.settlement import business_days
from payments.services.reporting.remittances import is_remittance

Kind = Account.Kind
ISSUED_AFTER = timedelta(hours=1)  # hardly any entry is written this long
AMOUNTS = ("net", "tax", "stamp_duty")


class MonthNotOver(InvalidState):
    default_detail = "Invoices of a month are issued an hour after it has ended, in Lagos."


class NoSeller(InvalidState):
    default_detail = (
        "Set SELLER_NAME first, and SELLER_ADDRESS and SELLER_TAX_ID: invoices name their seller."
    )


@dataclass(slots=True, kw_only=True)
class Draft:
    """An invoice before it has a number."""

    business_id: UUID
    currency: str
    lines: list[FeeInvoiceLine] = field(default_factory=list)
    fees_through: int = 0
    taxes_through: int = 0

    def total(self, name: str) -> int:
        return sum(getattr(line, name) for line in self.lines)


def issue_due(*, now: datetime) -> int:
    """Issue the invoices of complete months that have none. Returns their number."""
    if not settings.SELLER_NAME:
        return 0
    return sum(len(issue(month, now=now)) for month in due_months(now=now))


def due_months(*, now: datetime) -> list[date]:
    """Return the complete months after the last one with invoices; without any, only the last complete month."""
    last = last_month(now=now)
    invoiced = FeeInvoice.objects.aggregate(last=Max("month"))["last"]
    month = last if invoiced is None else month_after(invoiced)
    months = []
    while month <= last:
        months.append(month)
        month = month_after(month)
    return months


def last_month(*, now: datetime) -> date:
    """Return the first day of the last month whose invoices may be issued."""
    this_month = business_days.business_day(now - ISSUED_AFTER).replace(day=1)
    return (this_month - timedelta(days=1)).replace(day=1)


def month_after(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)


@database.atomic
def issue(month: date, *, now: datetime) -> list[FeeInvoice]:
    """Issue the invoices of a month, which is named by its first day. Returns none if they were issued before.

    :raises MonthNotOver: the month has not ended an hour ago
    :raises NoSeller: the settings don't say who sells
    """
    if month > last_month(now=now):
        raise MonthNotOver
    if not settings.SELLER_NAME:
        raise NoSeller
    _lock_numbers()
    if FeeInvoice.objects.filter(month=month).exists():
        return []
    found = drafts(month)
    businesses = Business.objects.in_bulk([each.business_id for each in found])
    taken = FeeInvoice.objects.aggregate(last=Max("number"))["last"] or 0
    invoices = [
        _invoice(draft, month, number, businesses[draft.business_id], now=now)
        for number, draft in enumerate(found, start=taken + 1)
    ]
    FeeInvoice.objects.bulk_create(invoices)
    for invoice, draft in zip(invoices, found, strict=True):
        for line in draft.lines:
            line.invoice = invoice
    FeeInvoiceLine.objects.bulk_create(line for draft in found for line in draft.lines)
    return invoices


def drafts(month: date) -> list[Draft]:
    """Return what the invoices of a month would be, in the order of their numbers."""
    postings = _postings(month)
    duties = _stamp_duties(postings)
    found: dict[tuple[UUID, str], Draft] = {}
    for row in _booked(postings):
        key = row["account__business"], row["account__currency"]
        draft = found.setdefault(key, Draft(business_id=key[0], currency=key[1]))
        draft.fees_through = max(draft.fees_through, row["fees_through"])
        draft.taxes_through = max(draft.taxes_through, row["taxes_through"])
        duty = duties.get(key, 0) if row["entry__kind"] == Entry.Kind.PAYOUT_SENT else 0
        draft.lines.append(
            FeeInvoiceLine(
                kind=row["entry__kind"],
                is_credit=row["is_credit"],
                entries=row["entries"],
                net=row["net"],
                tax=row["taxes"] - duty,
                stamp_duty=duty,
            )
        )
    return list(found.values())


def _postings(month: date) -> QuerySet[Posting]:
    """Return the fees and taxes of a month, and what was booked too late for the invoice of an earlier one.

    What was remitted of the taxes isn't the business's, and is on none.
    """
    begin, end = _period(month)
    postings = Posting.objects.filter(
        account__kind__in=[Kind.FEES, Kind.TAXES_PAYABLE], account__business__isnull=False, entry__at__lt=end
    )
    return postings.filter(Q(entry__at__gte=begin) | _is_late()).exclude(is_remittance())


def _is_late() -> Q:
    at = OuterRef("entry__at")
    is_invoiced = Exists(FeeInvoice.objects.filter(begins_at__lte=at, ends_at__gt=at))
    after_fees = Q(account__kind=Kind.FEES, sequence__gt=_through("fees_through"))
    after_taxes = Q(account__kind=Kind.TAXES_PAYABLE, sequence__gt=_through("taxes_through"))
    return Q(is_invoiced) & (after_fees | after_taxes)


def _through(column: str) -> Coalesce:
    """Return the last posting that invoices of its business and currency have, or 0."""
    own = FeeInvoice.objects.filter(
        business=OuterRef("account__business"), currency=OuterRef("account__currency")
    )
    return Coalesce(Subquery(own.order_by(f"-{column}").values(column)[:1]), 0)


def _booked(postings: QuerySet[Posting]) -> Iterable[Mapping[str, Any]]:
    """Return the sums of fees and taxes, by business, currency, and what they are of."""
    fees, taxes = Q(account__kind=Kind.FEES), Q(account__kind=Kind.TAXES_PAYABLE)
    return (
        postings.annotate(is_credit=ExpressionWrapper(Q(amount__lt=0), output_field=BooleanField()))
        .values("account__business", "account__currency", "entry__kind", "is_credit")
        .annotate(
            entries=Count("entry", distinct=True),
            net=Sum("amount", filter=fees, default=0),
            taxes=Sum("amount", filter=taxes, default=0),
            fees_through=Max("sequence", filter=fees, default=0),
            taxes_through=Max("sequence", filter=taxes, default=0),
        )
        .order_by(
            "account__business__created_at",
            "account__business",
            "account__currency",
            "entry__kind",
            "is_credit",
        )
    )


def _stamp_duties(postings: QuerySet[Posting]) -> dict[tuple[UUID, str], int]:
    """Return the stamp duty on the payouts that were sent, by business and currency."""
    sent = postings.filter(entry__kind=Entry.Kind.PAYOUT_SENT)
    dutiable = Transaction.objects.filter(stamp_duty__gt=0, pk__in=sent.values("entry__cause"))
    sums: dict[tuple[UUID, str], int] = defaultdict(int)
    for business, currency, duty in dutiable.values_list("business", "currency").annotate(Sum("stamp_duty")):
        sums[business, currency] += duty
    return sums


def _invoice(draft: Draft, month: date, number: int, business: Business, *, now: datetime) -> FeeInvoice:
    begin, end = _period(month)
    return FeeInvoice(
        id=new_id(now),
        number=number,
        business=business,
        currency=draft.currency,
        month=month,
        begins_at=begin,
        ends_at=end,
        fees_through=draft.fees_through,
        taxes_through=draft.taxes_through,
        **{name: draft.total(name) for name in AMOUNTS},
        seller_name=settings.SELLER_NAME,
        seller_address=settings.SELLER_ADDRESS,
        seller_tax_id=settings.SELLER_TAX_ID,
        buyer_name=business.name,
        buyer_address=business.billing_address,
        buyer_tax_id=business.tax_id,
        created_at=now,
    )


def _period(month: date) -> tuple[datetime, datetime]:
    return business_days.begins_at(month), business_days.begins_at(month_after(month))


def _lock_numbers() -> None:
    """Let others issue invoices only after this transaction. SQLite has one writer at a time."""
    postgresql.rows("LOCK TABLE payments_feeinvoice IN EXCLUSIVE MODE")
