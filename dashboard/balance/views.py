"""The balance of the wallet, and its statement as a page and an export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from dashboard.balance.balance_chart import balance_chart
from dashboard.balance.history import History
from dashboard.balance.movement_list import STATEMENT, StatementFilter
from dashboard.balance.settlement_calendar import calendar_of
from dashboard.balance.strip import others_of, strip_of
from dashboard.memberships import Membership, members_export, members_page
from dashboard.ui.lists import exports
from dashboard.ui.lists.lists import list_context
from kit.files.tables import Column, Table
from kit.money.money import decimal_amount
from ledger.models import Entry, Posting
from ledger.statements import in_chunks
from merchants.exports import FileType
from merchants.models import Business
from payments.models import ReserveHold
from payments.services.reporting.wallet_statement import MOVEMENT_KINDS, PAYOUTS, Movement, movements

ABOUT_PAYOUTS = (*PAYOUTS, Entry.Kind.PAYOUT_REVERSED)
ABOUT_SETTLEMENTS = (Entry.Kind.SETTLEMENT_RELEASED, Entry.Kind.RESERVE_HELD, Entry.Kind.RESERVE_RETURNED)
# The page of a movement's cause.
PAGES = {
    **dict.fromkeys(ABOUT_PAYOUTS, "dashboard-payout"),
    **dict.fromkeys(ABOUT_SETTLEMENTS, "dashboard-settlement"),
    Entry.Kind.UNAPPLIED_OUT: "dashboard-unapplied-item",
}
# What stands between the kind of a movement and whom or what it is about.
LINKING_WORDS = {
    **dict.fromkeys(ABOUT_PAYOUTS, "to"),
    Entry.Kind.TAX: "on the payout to",
    **dict.fromkeys(ABOUT_SETTLEMENTS, "of"),
    Entry.Kind.UNAPPLIED_OUT: "from",
}
COLUMNS: list[Column[Movement]] = [
    Column("id", lambda row: row.id),
    Column("created_at", lambda row: row.posting.entry.at, "Time, UTC"),
    Column("kind", lambda row: row.posting.entry.kind),
    Column("movement", lambda row: Row(row).title),
    Column("counterparty", lambda row: Row(row).counterparty),
    Column("reference", lambda row: row.cause.reference),
    Column("amount", lambda row: decimal_amount(row.posting.amount, row.posting.account.currency)),
    Column(
        "balance_after", lambda row: decimal_amount(row.posting.balance_after, row.posting.account.currency)
    ),
    Column("currency", lambda row: row.posting.account.currency),
    Column("note", lambda row: row.posting.entry.note),
]
EXPORTED_AT_ONCE = 1_000
RETURNS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Row:
    """A movement as the page shows it."""

    movement: Movement

    @property
    def title(self) -> str:
        """Return what happened and whom or what it is about, such as "Payout to Chinedu Eze"."""
        kind = Entry.Kind(self.movement.posting.entry.kind)
        title, about = MOVEMENT_KINDS.get(kind, "Movement"), self.movement.cause.about
        return f"{title} {LINKING_WORDS[kind]} {about}" if about and kind in LINKING_WORDS else title

    @property
    def counterparty(self) -> str:
        """Return the beneficiary of a payout or the sender of a transfer; empty for other movements."""
        has_one = self.movement.posting.entry.kind in {*ABOUT_PAYOUTS, Entry.Kind.UNAPPLIED_OUT}
        return self.movement.cause.about if has_one else ""

    @property
    def reference(self) -> str:
        """Return the cause's reference; empty if it is a generated id."""
        is_payout = self.movement.posting.entry.kind in ABOUT_PAYOUTS
        return self.movement.cause.reference if is_payout else ""

    @property
    def note(self) -> str:
        return self.movement.posting.entry.note

    @property
    def more(self) -> str:
        return " · ".join(text for text in (self.reference, self.note) if text)

    @property
    def address(self) -> str:
        """Return the page of the cause; empty if it has none."""
        page = PAGES.get(Entry.Kind(self.movement.posting.entry.kind))
        return reverse(page, args=[self.movement.cause.id]) if page else ""


@members_page
def balance_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show where the money of one currency is, its balance over time, and the statement of its wallet."""
    business = membership.business
    form = StatementFilter(request.GET, business=business)
    context = list_context(STATEMENT, form, form, membership=membership, query=request.GET)
    context |= {
        "currency": form.currency_shown,
        "rows": [Row(each) for each in movements(list(context["page"].rows))],
        "history": form.history,
        "returns": _returns(business) if any(each.reserved for each in form.balances) else [],
        "chosen": f"currency={form.currency_shown}&" if form.currency_shown != form.main_currency else "",
        "others": others_of(form.balances, currency=form.currency_shown),
    }
    if form.history:
        context |= _pictures(form, form.history, holds=context["returns"])
    return render(request, "dashboard/balance/balance.html", context)


def _pictures(form: StatementFilter, history: History, *, holds: Sequence[ReserveHold]) -> dict[str, Any]:
    """Return the strip, the chart and the calendar of the selected currency."""
    currency, period = form.currency_shown, form.chart_period
    balance = next(each for each in form.balances if each.currency == currency)
    return {
        "strip": strip_of(balance, form.accounts_shown, history.past),
        "is_compared": any(level.position for level in history.past.values()),
        "chart": balance_chart(history.levels, period=period, currency=currency),
        "period": period,
        "statement_days": form.shown(("since", "until")) or "All days",
        "calendar": calendar_of(
            form.business,
            currency,
            month=period.last,
            today=timezone.localdate(),
            pending=balance.pending,
            holds=holds,
        ),
    }


def _returns(business: Business) -> list[ReserveHold]:
    """Return what is in reserve, by the time of its return."""
    held = ReserveHold.objects.of(business).open().select_related("batch")
    return list(held.order_by(F("returns_at").asc(nulls_last=True), "pk")[:RETURNS_SHOWN])


@members_export
def balance_export(request: HttpRequest, membership: Membership, file_type: FileType) -> HttpResponseBase:
    form = StatementFilter(request.GET, business=membership.business)
    page = reverse("dashboard-balance")
    if not form.is_valid():
        return exports.back_to_list(request, page)
    table = Table(columns=COLUMNS, rows=_movements(form.postings))
    return exports.export(
        request, table, name=f"balance-{form.currency_shown}", file_type=file_type, page=page
    )


def _movements(postings: QuerySet[Posting]) -> Iterator[Movement]:
    for chunk in in_chunks(postings, size=EXPORTED_AT_ONCE):
        yield from movements(chunk)
