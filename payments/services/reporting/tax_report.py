"""What the operator owes in taxes: what transactions were charged in a period, and what was remitted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any

from django.db.models import Q, Sum

from ledger.models import Account, Entry, Posting
from payments.models import Transaction
from payments.rules.settlement import business_days

Kind = Account.Kind

# Entries that charge a tax. All others that post to taxes payable are journals: remittances and corrections.
CHARGED_BY = (Entry.Kind.CARD, Entry.Kind.VIRTUAL_ACCOUNT, Entry.Kind.PAYOUT_SENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxReport:
    """The taxes of a currency in a period, in minor units."""

    currency: str
    opening: int  # payable before the period
    taxed_fees: int  # the fees that were taxed, without their taxes
    # Taxes on fees, by what the fee is of.
    card: int
    virtual_account: int
    payout: int
    stamp_duty: int
    remitted: int  # by journals

    @property
    def charged(self) -> int:
        return self.card + self.virtual_account + self.payout + self.stamp_duty

    @property
    def closing(self) -> int:
        """Return what is payable after the period."""
        return self.opening + self.charged - self.remitted


def of_period(first: date, last: date) -> list[TaxReport]:
    """Return the report of each currency with taxes, of business days from the first to the last."""
    begin, end = business_days.begins_at(first), business_days.begins_at(business_days.day_after(last))
    moved = (
        Posting.objects.filter(account__kind=Kind.TAXES_PAYABLE, entry__at__lt=end)
        .values("account__currency", "entry__kind")
        .annotate(
            before=Sum("amount", filter=Q(entry__at__lt=begin), default=0),
            within=Sum("amount", filter=Q(entry__at__gte=begin), default=0),
        )
        .order_by("account__currency")
    )
    taxed = (
        Transaction.objects.filter(
            Q(fee_tax__gt=0) | Q(stamp_duty__gt=0), finished_at__gte=begin, finished_at__lt=end
        )
        .values("currency")
        .annotate(fees=Sum("fee", filter=Q(fee_tax__gt=0), default=0), duty=Sum("stamp_duty"))
    )
    of_currency = {row["currency"]: row for row in taxed}
    by_currency = groupby(moved, key=lambda row: row["account__currency"])
    return [_report(currency, rows, of_currency.get(currency, {})) for currency, rows in by_currency]


def _report(currency: str, rows: Iterable[Mapping[str, Any]], taxed: Mapping[str, Any]) -> TaxReport:
    found = list(rows)
    charged = {row["entry__kind"]: row["within"] for row in found if row["entry__kind"] in CHARGED_BY}
    return TaxReport(
        currency=currency,
        opening=sum(row["before"] for row in found),
        taxed_fees=taxed.get("fees", 0),
        card=charged.get(Entry.Kind.CARD, 0),
        virtual_account=charged.get(Entry.Kind.VIRTUAL_ACCOUNT, 0),
        payout=charged.get(Entry.Kind.PAYOUT_SENT, 0) - taxed.get("duty", 0),
        stamp_duty=taxed.get("duty", 0),
        remitted=-sum(row["within"] for row in found if row["entry__kind"] not in CHARGED_BY),
    )
