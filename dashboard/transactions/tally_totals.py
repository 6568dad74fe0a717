"""Counts and sums of lists from daily totals: exact at any number of transactions.

They answer a filter of whole days that has nothing but what totals know: type, status, method, currency, response code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from dashboard.transactions.filters import NARROWER, TransactionFilter
from dashboard.ui.list_totals import Count
from kit.money import money
from merchants.models import Business
from payments.models import Transaction
from payments.services.reporting.daily_totals import Tally, first_day, tallies

# Fields of the filter, and what they are of a tally.
KNOWN = {
    "request_type": "request_type",
    "status": "status",
    "method": "method",
    "currency": "currency",
    "code": "response_code",
}


@dataclass(frozen=True, slots=True)
class TallyTotals:
    """The tallies of a list's days, whatever their type and status."""

    tallies: Sequence[Tally]

    def count(self, wanted: Mapping[str, Any]) -> Count:
        return Count(sum(tally.count for tally in self._matching(wanted)))

    def sums(self, wanted: Mapping[str, Any]) -> list[str]:
        """Return the sum of the successful ones in each currency, largest first."""
        totals: Counter[str] = Counter()
        for tally in self._matching({**wanted, "status": Transaction.Status.SUCCESS}):
            totals[tally.currency] += tally.volume
        return [money(total, currency) for currency, total in totals.most_common() if total]

    def _matching(self, wanted: Mapping[str, Any]) -> list[Tally]:
        given = {of_tally: wanted[name] for name, of_tally in KNOWN.items() if wanted.get(name)}
        return [
            tally
            for tally in self.tallies
            if all(getattr(tally, name) == value for name, value in given.items())
        ]


def is_known(wanted: Mapping[str, Any]) -> bool:
    """Return whether totals know everything but the days of a filter."""
    unknown = ("q", "amount_from", "amount_to", "payment_link_id")
    return not any(wanted.get(name) for name in unknown) and wanted["status"] not in NARROWER


def tally_totals(form: TransactionFilter, *, business: Business, now: datetime) -> TallyTotals | None:
    """Return the totals of the filter's days; None if totals don't reach back as far."""
    since: date | None = form.cleaned_data["since"]
    if since is None or since < first_day(business, now=now):
        return None
    today = now.astimezone(business.zone).date()
    last = min(form.cleaned_data["until"] or today, today)
    return TallyTotals(tallies(business, first=since, last=last) if since <= last else [])
