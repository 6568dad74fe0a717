"""What one customer did, as one list: payments, failed tries, refunds, unapplied transfers, disputes and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import QueryDict
from django.urls import reverse

from dashboard.models import Note
from dashboard.ui.components.chips import address_with
from dashboard.ui.dispute_names import dispute_name, dispute_reason, dispute_style, stage_name
from dashboard.ui.lists.tabs import Tab
from disputes.models import Dispute
from payments.models import CardOperation, Transaction
from payments.rules.words.dispute_words import Status as DisputeStatus
from payments.rules.words.status_names import (
    STATUS_NAMES,
    UNAPPLIED_SHORT_REASONS,
    UNAPPLIED_STYLES,
    unapplied_name,
)
from payments.services.transfers import awaited_returns
from virtual_accounts.models import UnappliedMoney

MOST_ROWS = 50  # shown
MOST_OF_A_KIND = 50  # read, beside the payments
PAYMENTS, FAILED, REFUNDS, UNAPPLIED, DISPUTES, NOTES = (
    "payments",
    "failed",
    "refunds",
    "unapplied",
    "disputes",
    "notes",
)
TABS = {
    PAYMENTS: "Payments",
    FAILED: "Failed tries",
    REFUNDS: "Refunds",
    UNAPPLIED: "Unapplied",
    DISPUTES: "Disputes",
    NOTES: "Notes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing that happened. Templates show the status and method of a payment."""

    kinds: Sequence[str]
    at: datetime
    name: str
    address: str
    text: str = ""
    payment: Transaction | None = None
    status: str = ""
    status_name: str = ""
    amount: int = 0  # negative if it went back to the customer
    currency: str = ""
    respond_by: datetime | None = None  # of a dispute that needs a response


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The newest rows of the chosen tab. `address` has the parameters of a tab."""

    rows: Sequence[Row]
    tabs: Sequence[Tab]
    counts: Counter[str]
    undecided: Sequence[UnappliedMoney]
    has_more: bool


def activity_of(payments: Sequence[Transaction], *, query: QueryDict) -> Activity:
    """Return what belongs to a customer's payments, newest first. `query`: of the page, with the chosen tab."""
    unapplied = _unapplied_of(payments)
    rows = [
        *map(_payment, payments),
        *map(_refund, _refunds_of(payments)),
        *map(_transfer, unapplied),
        *map(_dispute, _disputes_of(payments)),
        *map(_note, _notes_on(payments)),
    ]
    counts = Counter(kind for row in rows for kind in row.kinds)
    chosen = query.get("show", "")
    wanted = [row for row in rows if not chosen or chosen in row.kinds]
    return Activity(
        rows=sorted(wanted, key=lambda row: row.at, reverse=True)[:MOST_ROWS],
        tabs=list(_tabs(counts, len(rows), query=query, chosen=chosen)),
        counts=counts,
        undecided=[each for each in unapplied if each.is_open],
        has_more=len(wanted) > MOST_ROWS,
    )


def _tabs(counts: Counter[str], total: int, *, query: QueryDict, chosen: str) -> Iterator[Tab]:
    """Yield a tab for everything, and one for each kind that there is."""
    yield Tab(name="All", address=address_with(query, show=""), count=total, is_here=not chosen)
    for kind, name in TABS.items():
        if counts[kind]:
            address = address_with(query, show=kind)
            yield Tab(name=name, address=address, count=counts[kind], is_here=kind == chosen)


def _refunds_of(payments: Sequence[Transaction]) -> list[CardOperation]:
    refunds = CardOperation.objects.filter(transaction__in=payments, kind=CardOperation.Kind.REFUND)
    return list(refunds.select_related("transaction").order_by("-pk")[:MOST_OF_A_KIND])


def _unapplied_of(payments: Sequence[Transaction]) -> list[UnappliedMoney]:
    found = UnappliedMoney.objects.filter(transfer__session__payment__in=payments)
    newest = found.select_related("transfer__session__payment").order_by("-pk")[:MOST_OF_A_KIND]
    return awaited_returns.mark(newest)


def _disputes_of(payments: Sequence[Transaction]) -> list[Dispute]:
    """Return the newest disputes of payments. Payments without any cost no query."""
    disputed = [each for each in payments if each.disputes_count]
    found = Dispute.objects.filter(transaction__in=disputed).order_by("-id")
    return list(found[:MOST_OF_A_KIND]) if disputed else []


def _notes_on(payments: Sequence[Transaction]) -> list[Note]:
    return list(Note.objects.filter(transaction__in=payments).order_by("-pk")[:MOST_OF_A_KIND])


def _payment(payment: Transaction) -> Row:
    is_failed = payment.status == Transaction.Status.FAILED
    return Row(
        kinds=(PAYMENTS, FAILED) if is_failed else (PAYMENTS,),
        at=payment.created_at,
        name=f"Payment {payment.reference}",
        address=reverse("dashboard-payment", args=[payment.pk]),
        payment=payment,
        amount=payment.amount,
        currency=payment.currency,
    )


def _refund(refund: CardOperation) -> Row:
    return Row(
        kinds=(REFUNDS,),
        at=refund.created_at,
        name=f"Refund {refund.reference}",
        address=reverse("dashboard-refund", args=[refund.pk]),
        text=refund.reason or f"Of {refund.transaction.reference}",
        status=refund.status,
        status_name=STATUS_NAMES[refund.status],
        amount=-refund.amount,
        currency=refund.transaction.currency,
    )


def _transfer(money: UnappliedMoney) -> Row:
    session = money.transfer.session
    meant_for = f" for {session.payment.reference}" if session else ""
    return Row(
        kinds=(UNAPPLIED,),
        at=money.created_at,
        name="Unapplied transfer",
        address=reverse("dashboard-unapplied-item", args=[money.pk]),
        text=f"{UNAPPLIED_SHORT_REASONS[money.transfer.reason]}{meant_for}",
        status=UNAPPLIED_STYLES[money.shown_state],
        status_name=unapplied_name(money.shown_state),
        amount=money.amount,
        currency=money.currency,
    )


def _dispute(dispute: Dispute) -> Row:
    return Row(
        kinds=(DISPUTES,),
        at=dispute.created_at,
        name=f"Dispute {dispute.case_number}",
        address=reverse("dashboard-dispute", args=[dispute.pk]),
        text=f"{stage_name(dispute.stage)} · {dispute_reason(dispute.reason)}",
        status=dispute_style(dispute.status),
        status_name=dispute_name(dispute.status),
        amount=dispute.amount,
        currency=dispute.currency,
        respond_by=dispute.respond_by if dispute.status == DisputeStatus.NEEDS_RESPONSE else None,
    )


def _note(note: Note) -> Row:
    return Row(
        kinds=(NOTES,),
        at=note.at,
        name=f"Note by {note.author}",
        address=f"{reverse('dashboard-payment', args=[note.transaction_id])}#notes",
        text=note.text,
    )
