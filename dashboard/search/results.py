"""Search results: the objects of a business that match a text, grouped by kind, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.urls import reverse

from dashboard.models import SearchTerm
from dashboard.search import queries, terms
from dashboard.search.queries import Found
from dashboard.ui.lists.bounded_totals import Count
from dashboard.ui.lists.pagination import MOST_SCANNED
from kit.db import clock
from kit.money.money import money
from kit.text.display_names import pasted
from kit.text.folding import beginning
from kit.text.ids import read_id
from merchants.models import Business
from payments.links.link_addresses import slug_in
from payments.models import CardOperation, PaymentLink, SettlementBatch, Transaction
from payments.rules.words.status_names import (
    LINK_NAMES,
    STATUS_NAMES,
    UNAPPLIED_STYLES,
    settlement_name,
    unapplied_name,
)
from payments.services.transfers import awaited_returns
from virtual_accounts.models import UnappliedMoney, VirtualAccount
from webhooks.models import Delivery

Kind = SearchTerm.Kind
SHOWN = 6  # of each group
MOST_COUNTED = 30  # of each group
READ = MOST_COUNTED + 1
ICONS = {
    "Payments": "credit-card",
    "Payouts": "paper-airplane",
    "Card checks": "credit-card",
    "Payment links": "link",
    "Refunds": "arrow-uturn-left",
    "Unapplied transfers": "banknotes",
    "Virtual accounts": "building-library",
    "Settlements": "banknotes",
    "Deliveries": "bolt",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An object that matches, as one row of the results."""

    address: str
    title: str
    text: str  # the second line: a reference, an account
    amount: str
    status: str  # as stored; empty for transactions, whose status depends on more than one column
    status_name: str
    row: Any
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The newest matches of one kind, with the number of all. `page` is the list that finds them too."""

    name: str
    hits: Sequence[Hit]
    count: Count
    page: str
    request_type: str = ""  # that the list is filtered by

    @property
    def icon(self) -> str:
        """Return the icon of its kind."""
        return ICONS[self.name]

    @property
    def has_more(self) -> bool:
        return self.count.number > len(self.hits)

    @property
    def more(self) -> str:
        """Return the address of the list; empty if there is none."""
        return reverse(self.page) if self.page else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    groups: Sequence[Group]
    is_partial: bool


def search(business: Business, text: str) -> Results:
    """Return what matches a text. An empty text matches nothing."""
    ranges = terms.lookups(text, currencies=business.currencies)
    text = pasted(text).strip()
    if not text:
        return Results(groups=[], is_partial=False)
    found = queries.find(business, ranges, kinds=tuple(Kind), limit=READ)
    found = found or queries.find_with_amount(business, text, kinds=tuple(Kind))
    key = read_id(text)
    groups = [
        *_transaction_groups(business, found, key),
        _group("Payment links", _links(business, text, key), page="dashboard-payment-links"),
        _group("Refunds", _refunds(business, found, key), is_partial=found.is_partial),
        _group(
            "Unapplied transfers",
            _unapplied(business, found, key),
            page="dashboard-unapplied",
            is_partial=found.is_partial,
        ),
        _group(
            "Virtual accounts",
            _accounts(business, found, key),
            page="dashboard-virtual-accounts",
            is_partial=found.is_partial,
        ),
        _group("Settlements", _batches(business, text, key)),
    ]
    deliveries = _deliveries(business, key, [key, *_named_by(groups, text)])
    groups.append(_group("Deliveries", deliveries, page="dashboard-deliveries"))
    return Results(groups=[group for group in groups if group.hits], is_partial=found.is_partial)


def _group(
    name: str, matches: Iterable[Hit], *, page: str = "", request_type: str = "", is_partial: bool = False
) -> Group:
    matches = iter(matches)
    hits = [*islice(matches, SHOWN)]
    number = len(hits) + sum(1 for _ in matches)
    count = Count(min(number, MOST_COUNTED), is_exact=number <= MOST_COUNTED and not is_partial)
    return Group(name=name, hits=hits, count=count, page=page, request_type=request_type)


def _keys(found: Found, kind: Kind, key: UUID | None) -> list[UUID]:
    return [*([key] if key else []), *found.ids.get(kind, ())]


def _transaction_groups(business: Business, found: Found, key: UUID | None) -> Iterator[Group]:
    keys = {each for kind in (Kind.PAYMENT, Kind.PAYOUT, Kind.CARD_CHECK) for each in _keys(found, kind, key)}
    rows = _newest_first(Transaction.objects.of(business).select_related("session__transfer"), keys)
    types, payments = Transaction.RequestType, "dashboard-payments"
    for name, kind, page, request_type in (
        ("Payments", types.PAYMENT, payments, ""),
        ("Payouts", types.PAYOUT, "dashboard-payouts", ""),
        ("Card checks", types.CARD_CHECK, payments, types.CARD_CHECK),
    ):
        hits = (_transaction(each) for each in rows if each.request_type == kind)
        yield _group(name, hits, page=page, request_type=request_type, is_partial=found.is_partial)


def _transaction(row: Transaction) -> Hit:
    is_payout = row.request_type == Transaction.RequestType.PAYOUT
    title = row.payer_name or (row.session.account_name if row.session else "")
    return Hit(
        address=reverse("dashboard-payout" if is_payout else "dashboard-payment", args=[row.pk]),
        title=title or row.reference,
        text=row.reference if title else "",
        amount=money(-row.amount if is_payout else row.amount, row.currency) if row.amount else "",
        status="",
        status_name="",
        row=row,
        at=row.created_at,
    )


def _links(business: Business, text: str, key: UUID | None) -> Iterator[Hit]:
    """Find links by ID, reference, address, or the beginning of a title, which is compared for the newest ones.

    They have no search terms, because a title may change and terms are only added.
    """
    if "\x00" in text:
        return
    mine = PaymentLink.objects.of(business)
    newest = mine.order_by("-pk").values("pk")[:MOST_SCANNED]
    keys = mine.values_list("pk", flat=True)
    found = keys.filter(reference=text).union(
        keys.filter(pk=key) if key else keys.none(),
        keys.filter(slug=slug_in(text)),
        keys.filter(pk__in=newest, title__regex=beginning(text)),
    )
    now = clock.now()
    for row in _newest_first(mine.select_related("business"), found.order_by("-pk")[:READ]):
        status = row.status_at(now)
        yield Hit(
            address=reverse("dashboard-payment-link", args=[row.pk]),
            title=row.title,
            text=row.reference,
            amount=row.amount_text,
            status=status,
            status_name=LINK_NAMES[status],
            row=row,
            at=row.created_at,
        )


def _refunds(business: Business, found: Found, key: UUID | None) -> Iterator[Hit]:
    refunds = CardOperation.objects.filter(business=business, kind=CardOperation.Kind.REFUND)
    for row in _newest_first(refunds.select_related("transaction"), _keys(found, Kind.REFUND, key)):
        payment = row.transaction
        yield Hit(
            address=reverse("dashboard-refund", args=[row.pk]),
            title=f"Refund of {payment.reference}",
            text=row.reference,
            amount=money(-row.amount, payment.currency),
            status=row.status,
            status_name=STATUS_NAMES.get(row.status, row.status.capitalize()),
            row=row,
            at=row.created_at,
        )


def _unapplied(business: Business, found: Found, key: UUID | None) -> Iterator[Hit]:
    held = UnappliedMoney.objects.filter(business=business).select_related("transfer")
    for row in awaited_returns.mark(_newest_first(held, _keys(found, Kind.UNAPPLIED, key))):
        yield Hit(
            address=reverse("dashboard-unapplied-item", args=[row.pk]),
            title=row.transfer.sender_name,
            text=f"to {row.transfer.number_id}",
            amount=money(row.amount, row.currency),
            status=UNAPPLIED_STYLES[row.shown_state],
            status_name=unapplied_name(row.shown_state),
            row=row,
            at=row.created_at,
        )


def _accounts(business: Business, found: Found, key: UUID | None) -> Iterator[Hit]:
    accounts = VirtualAccount.objects.of(business)
    for row in _newest_first(accounts, _keys(found, Kind.VIRTUAL_ACCOUNT, key)):
        yield Hit(
            address=reverse("dashboard-virtual-account", args=[row.pk]),
            title=row.holder_name or row.reference,
            text=f"{row.account_number} · {row.bank_name}" if row.account_number else row.reference,
            amount="",
            status=row.status,
            status_name=STATUS_NAMES.get(row.status, row.status.capitalize()),
            row=row,
            at=row.created_at,
        )


def _batches(business: Business, text: str, key: UUID | None) -> Iterator[Hit]:
    """Find batches by id, day or net amount. A business has a few each day, and their unique index starts with it."""
    conditions = [Q(pk=key)] if key else []
    with suppress(ValueError):
        conditions.append(Q(day=date.fromisoformat(text)))
    for net, currency in terms.amounts(text, currencies=business.currencies):
        conditions.append(Q(net=net, currency=currency))
    if not conditions:
        return
    condition = reduce(or_, conditions)
    for row in SettlementBatch.objects.of(business).filter(condition).order_by("-pk")[:READ]:
        yield Hit(
            address=reverse("dashboard-settlement", args=[row.pk]),
            title=f"Settlement of {row.day:%-d %b %Y}",
            text=f"No. {row.number} of the day",
            amount=money(row.net, row.currency),
            status=row.state,
            status_name=settlement_name(row.state),
            row=row,
            at=row.created_at,
        )


def _named_by(groups: Iterable[Group], text: str) -> Iterator[UUID]:
    """Return the ids of the hits whose whole reference is the text."""
    for group in groups:
        yield from (hit.row.pk for hit in group.hits if getattr(hit.row, "reference", None) == text)


def _deliveries(business: Business, key: UUID | None, subjects: Iterable[UUID | None]) -> Iterator[Hit]:
    """Find a delivery by its id, and those of the given objects."""
    subjects = [each for each in subjects if each is not None]
    if not subjects:
        return
    found = Delivery.objects.filter(Q(pk=key) | Q(subject__in=subjects), business=business).defer("body")
    for row in found.order_by("-created_at")[:READ]:
        yield Hit(
            address=reverse("dashboard-delivery", args=[row.pk]),
            title=row.get_event_display(),
            text=str(row.pk),
            amount="",
            status=row.state,
            status_name=row.state_name,
            row=row,
            at=row.created_at,
        )


def _newest_first(rows: Any, keys: Iterable[UUID]) -> list[Any]:
    keys = list(keys)
    return list(rows.filter(pk__in=keys).order_by("-pk")) if keys else []
