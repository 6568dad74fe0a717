"""The pages of settlements, of the balance and its movements."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard import exports
from dashboard.access import Seat, members_only
from dashboard.choices import choices
from dashboard.pages import BY_ID, BY_NUMBER, page_of
from dashboard.settlements.steps import steps_of
from dashboard.timelines import Moment
from ledger.models import Account, Posting
from ledger.services import balances
from payments.models import SettlementBatch, SettlementItem, Transaction
from payments.services.statements import csv_lines, show


class BatchFilter(forms.Form):
    state = forms.ChoiceField(required=False, choices=choices(Transaction.SettleStatus.choices))


class MovementFilter(forms.Form):
    """Which of the wallets: one per currency."""

    currency = forms.ChoiceField(required=False)

    def __init__(self, *args: Any, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["currency"].choices = [(each, each) for each in currencies]  # type: ignore[attr-defined]


@require_safe
@members_only
def settlements_page(request: HttpRequest, seat: Seat) -> HttpResponse:
    form = BatchFilter(request.GET)
    found = SettlementBatch.objects.of(seat.business) if form.is_valid() else SettlementBatch.objects.none()
    if form.is_valid() and form.cleaned_data["state"]:
        found = found.filter(state=form.cleaned_data["state"])
    context = {
        "seat": seat,
        "form": form,
        "page": page_of([found], request.GET, order=BY_ID),
        "balances": balances(seat.business),
        "is_filtered": any(request.GET.values()),
    }
    return render(request, "dashboard/settlements/settlements.html", context)


@require_safe
@members_only
def settlement_page(request: HttpRequest, seat: Seat, batch_id: UUID) -> HttpResponse:
    """Show a batch: its steps, how its net comes about, and its statement."""
    batch = _own(seat, batch_id)
    page = page_of([_items(batch)], request.GET, order=BY_NUMBER, size=50)
    steps: list[Moment] = steps_of(batch)
    context = {
        "seat": seat,
        "batch": batch,
        "steps": steps,
        "page": page,
        "lines": [show(item) for item in page.rows],
    }
    return render(request, "dashboard/settlements/settlement.html", context)


@require_safe
@members_only
def settlement_export(request: HttpRequest, seat: Seat, batch_id: UUID) -> HttpResponseBase:  # noqa: ARG001
    batch = _own(seat, batch_id)
    name = f"settlement-{batch.day}-{batch.currency}-{batch.number}"
    return exports.file(name=name, lines=csv_lines(batch))


@require_safe
@members_only
def movements_page(request: HttpRequest, seat: Seat) -> HttpResponse:
    """Show what went into the wallet and what left it, with the balance after each."""
    held = balances(seat.business)
    currencies = [each.currency for each in held]
    form = MovementFilter(request.GET, currencies=currencies)
    chosen = form.cleaned_data["currency"] if form.is_valid() else ""
    currency = chosen or (currencies[0] if currencies else "")
    wallet = Account.objects.filter(
        business=seat.business, currency=currency, kind=Account.Kind.WALLET
    ).first()
    postings = Posting.objects.filter(account=wallet).select_related("entry")
    context = {
        "seat": seat,
        "form": form,
        "currency": currency,
        "currencies": currencies,
        "page": page_of([postings], request.GET, order=BY_NUMBER),
    }
    return render(request, "dashboard/settlements/movements.html", context)


def _items(batch: SettlementBatch) -> Any:
    return SettlementItem.objects.filter(batch=batch).select_related("transaction", "operation")


def _own(seat: Seat, batch_id: UUID) -> SettlementBatch:
    batch: SettlementBatch | None = SettlementBatch.objects.of(seat.business).filter(pk=batch_id).first()
    if batch is None:
        raise Http404
    return batch
