"""The page of success rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.memberships import Membership, members_page
from dashboard.success_rates.rates import ENOUGH, NEWEST, Kind, Rate, by_kind, rates_of
from dashboard.ui.components.figures import NO_PAST, Change, change_of_rate, percent
from kit.db import clock
from payments.models import Transaction

RANGES = {6: "Last 6 hours", 24: "Last 24 hours", 168: "Last 7 days"}  # by hours
SHOWN = 15  # groups of a kind
SECTIONS = (  # with their headings, and the heads of their columns
    (Kind.METHOD, "Method", "Method"),
    (Kind.BANK, "Bank of the virtual account", "Bank"),
    (Kind.BIN, "First six digits of the card", "Card"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A group on the page, with the list of its payments that failed."""

    rate: Rate
    since: str

    @property
    def now(self) -> str:
        return percent(self.rate.per_mille)

    @property
    def past(self) -> str:
        return percent(self.rate.past_per_mille)

    @property
    def change(self) -> Change:
        """Return the change since last week; none if too few payments are compared."""
        return (
            change_of_rate(self.rate.per_mille, self.rate.past_per_mille) if self.rate.is_known else NO_PAST
        )

    @property
    def change_text(self) -> str:
        if self.rate.is_known:
            return self.change.text or "Unchanged"
        return "Too few to compare" if self.rate.past_finished else self.change.note

    @property
    def note(self) -> str:
        return ", ".join(sorted(self.rate.brands)) if self.rate.group.kind == Kind.BIN else ""

    @property
    def address(self) -> str:
        kind, key = self.rate.group
        method = Transaction.Method.VIRTUAL_ACCOUNT if kind == Kind.BANK else Transaction.Method.CARD
        query = {"method": key if kind == Kind.METHOD else method, "status": "failed", "since": self.since}
        return f"{reverse('dashboard-payments')}?{urlencode(query)}"


@dataclass(frozen=True, slots=True)
class Section:
    kind: str
    name: str
    head: str
    rows: Sequence[Row]
    left_out: int


@members_page
def success_rates_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the success rates of the last hours, compared with the same hours of last week."""
    hours = next((each for each in RANGES if str(each) == request.GET.get("hours")), 24)
    now, business = clock.now(), membership.business
    found = by_kind(rates_of(business, hours=hours, now=now))
    since = (now - timedelta(hours=hours)).astimezone(business.zone).date().isoformat()
    sections = [
        Section(
            kind,
            name,
            head,
            [Row(rate, since) for rate in found[kind][:SHOWN]],
            max(len(found[kind]) - SHOWN, 0),
        )
        for kind, name, head in SECTIONS
        if kind in found
    ]
    counted = sum(rate.finished for rate in found.get(Kind.METHOD, []))
    context = {
        "membership": membership,
        "sections": sections,
        "hours": hours,
        "ranges": RANGES.items(),
        "range_name": RANGES[hours],
        "is_sample": counted == NEWEST,
        "newest": NEWEST,
        "enough": ENOUGH,
    }
    return render(request, "dashboard/success_rates/success_rates.html", context)
