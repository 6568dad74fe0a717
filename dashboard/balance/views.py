"""The balance of the wallet, and its statement as a page and an export."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from dashboard.balance.movement_list import STATEMENT, StatementFilter
from dashboard.memberships import Membership, members_export, members_page
from dashboard.ui.lists import exports
from dashboard.ui.lists.lists import list_context
from kit.files.tables import Column, Table
from kit.money.money import decimal_amount
from ledger.models import Entry, Posting
from ledger.services import balances
from ledger.statements import in_chunks
from merchants.exports import FileType
from payments.services.reporting.wallet_statement import MOVEMENT_KINDS, PAYOUTS, Movement, movements

ABOUT_PAYOUTS = (*PAYOUTS, Entry.Kind.PAYOUT_REVERSED)
# The page of a movement's cause.
PAGES = {
    **dict.fromkeys(ABOUT_PAYOUTS, "dashboard-payout"),
    Entry.Kind.SETTLEMENT_RELEASED: "dashboard-settlement",
    Entry.Kind.UNAPPLIED_OUT: "dashboard-unapplied-item",
}
# What stands between the kind of a movement and whom or what it is about.
LINKING_WORDS = {
    **dict.fromkeys(ABOUT_PAYOUTS, "to"),
    Entry.Kind.SETTLEMENT_RELEASED: "of",
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
    def address(self) -> str:
        """Return the page of the cause; empty if it has none."""
        page = PAGES.get(Entry.Kind(self.movement.posting.entry.kind))
        return reverse(page, args=[self.movement.cause.id]) if page else ""


@members_page
def balance_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the balances, and the statement of one wallet."""
    held = balances(membership.business)
    form = StatementFilter(
        request.GET, business=membership.business, currencies=[each.currency for each in held]
    )
    context = list_context(STATEMENT, form, form, membership=membership, query=request.GET)
    statement = form.statement if form.is_valid() else None
    opening, closing = (statement.opening_balance, statement.closing_balance) if statement else (0, 0)
    context |= {
        "currency": form.currency_shown,
        "balances": held,
        "rows": [Row(each) for each in movements(list(context["page"].rows))],
        "opening": opening,
        "closing": closing,
        "change": closing - opening,
    }
    return render(request, "dashboard/balance/balance.html", context)


@members_export
def balance_export(request: HttpRequest, membership: Membership, file_type: FileType) -> HttpResponseBase:
    held = balances(membership.business)
    form = StatementFilter(
        request.GET, business=membership.business, currencies=[each.currency for each in held]
    )
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
