"""The balance of the wallet, and its statement as a page and CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard.memberships import Membership, members_only
from dashboard.ui.field_choices import set_choices
from dashboard.ui.list_filters import PeriodFilter
from dashboard.ui.pagination import BY_SEQUENCE, page_of
from ledger.models import Entry
from ledger.services import balances
from ledger.statements import AccountStatement, in_chunks, wallet_statements
from merchants import csv_exports
from payments.services.reporting.wallet_statement import MOVEMENT_KINDS, PAYOUTS, Movement, movements

ABOUT_PAYOUTS = (*PAYOUTS, Entry.Kind.PAYOUT_REVERSED)
# The page of a movement's cause.
PAGES = {
    **dict.fromkeys(ABOUT_PAYOUTS, "dashboard-payout"),
    Entry.Kind.SETTLEMENT_RELEASED: "dashboard-settlement",
    Entry.Kind.UNAPPLIED_OUT: "dashboard-unapplied-item",
}
HEAD = ("id", "created_at", "kind", "reference", "amount", "balance_after", "currency", "note")
EXPORTED_AT_ONCE = 1_000


class StatementFilter(PeriodFilter):
    """The currency and the days of the statement. Days are UTC."""

    currency = forms.ChoiceField(required=False)

    field_order = ("currency", "since", "until")

    def __init__(self, *args: Any, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "currency", ((each, each) for each in currencies))

    def statement(self, membership: Membership, currency: str) -> AccountStatement | None:
        """Return the statement of the filtered days; None if the wallet has no entries."""
        found = wallet_statements(membership.business, currency=currency, since=self.begin, before=self.end)
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Row:
    """A movement as the page shows it."""

    movement: Movement

    @property
    def title(self) -> str:
        return MOVEMENT_KINDS.get(Entry.Kind(self.movement.posting.entry.kind), "Movement")

    @property
    def reference(self) -> str:
        """Return the cause's reference; empty if it is a generated id and there is a note."""
        is_payout = self.movement.posting.entry.kind in ABOUT_PAYOUTS
        return self.movement.cause.reference if is_payout or not self.note else ""

    @property
    def note(self) -> str:
        return self.movement.posting.entry.note

    @property
    def address(self) -> str:
        """Return the page of the cause; empty if it has none."""
        page = PAGES.get(Entry.Kind(self.movement.posting.entry.kind))
        return reverse(page, args=[self.movement.cause.id]) if page else ""


@require_safe
@members_only
def balance_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the balances, and the statement of one wallet."""
    held = balances(membership.business)
    form, currency = _form(request, [each.currency for each in held])
    statement = form.statement(membership, currency) if form.is_valid() else None
    page = page_of([statement.postings] if statement else [], request.GET, order=BY_SEQUENCE)
    context = {
        "membership": membership,
        "form": form,
        "currency": currency,
        "balances": held,
        "page": page,
        "rows": [Row(each) for each in movements(list(page.rows))],
        "opening": statement.opening_balance if statement else 0,
        "closing": statement.closing_balance if statement else 0,
    }
    return render(request, "dashboard/balance/balance.html", context)


@require_safe
@members_only
def balance_export(request: HttpRequest, membership: Membership) -> HttpResponseBase:
    form, currency = _form(request, [each.currency for each in balances(membership.business)])
    if not form.is_valid():  # the page shows the filter's errors
        return redirect(f"{reverse('dashboard-balance')}?{request.GET.urlencode()}")
    statement = form.statement(membership, currency)
    return csv_exports.table(
        request, name=f"balance-{currency}", head=HEAD, rows=_lines(statement) if statement else []
    )


def _form(request: HttpRequest, currencies: list[str]) -> tuple[StatementFilter, str]:
    """Return the filter, and the selected currency, by default the first one."""
    form = StatementFilter(request.GET, currencies=currencies)
    chosen = form.cleaned_data["currency"] if form.is_valid() else ""
    return form, chosen or (currencies[0] if currencies else "")


def _lines(statement: AccountStatement) -> Iterator[list[Any]]:
    for chunk in in_chunks(statement.postings, size=EXPORTED_AT_ONCE):
        for movement in movements(chunk):
            posting = movement.posting
            yield [
                movement.id,
                posting.entry.at.isoformat(timespec="milliseconds"),
                posting.entry.kind,
                movement.cause.reference,
                posting.amount,
                posting.balance_after,
                posting.account.currency,
                posting.entry.note,
            ]
