"""Leases of unknown outcomes, so that only one process at a time queries the rail about each.

The request that sends an order holds the first lease, until the first requery is due. The leases of a killed process
expire. All times come from the database. Decision 0022.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from django.conf import settings
from django.db import transaction as database
from django.db.models import Q, QuerySet

from payments.models import CardOperation, Transaction

Unanswered: TypeAlias = Transaction | CardOperation

BANK, ACQUIRER = "bank", "acquirer"
MARGIN = timedelta(seconds=14)  # for the connection, and for the database before and after the call


class Lane(NamedTuple):
    """A rail and a connector. Lanes are independent of each other."""

    rail: str
    connector: str

    def __str__(self) -> str:
        return f"{self.rail}:{self.connector}"

    @property
    def transactions(self) -> QuerySet[Transaction]:
        """Return the unanswered transactions of this lane."""
        found = Transaction.objects.unanswered().filter(connector=self.connector)
        of_bank = Q(method=Transaction.Method.BANK)
        return found.filter(of_bank if self.rail == BANK else ~of_bank)

    @property
    def operations(self) -> QuerySet[CardOperation]:
        """Return the unanswered operations of this lane."""
        found = CardOperation.objects.unanswered()
        if self.rail == BANK:
            return found.filter(connector=self.connector).exclude(connector="")
        return found.filter(connector="", transaction__connector=self.connector)


def lane_of(subject: Unanswered) -> Lane:
    if isinstance(subject, CardOperation):
        return _operation_lane(subject.connector, subject.transaction.connector)
    rail = BANK if subject.method == Transaction.Method.BANK else ACQUIRER
    return Lane(rail, subject.connector)


def unanswered(*, due_at: datetime | None = None, unleased_at: datetime | None = None) -> list[Unanswered]:
    """Return the transactions and operations with an unknown outcome, optionally only if due or unleased at a time."""
    chosen = _chosen(due_at=due_at, unleased_at=unleased_at)
    transactions = _with_related(Transaction.objects.unanswered().filter(chosen))
    operations = _with_related(CardOperation.objects.unanswered().filter(chosen))
    return [*transactions.order_by("next_query_at"), *operations.order_by("next_query_at")]


def lanes_due(*, at: datetime) -> list[Lane]:
    """Return the lanes with a due query that no process has leased."""
    due = _chosen(due_at=at, unleased_at=at)
    transactions = Transaction.objects.unanswered().filter(due).order_by()
    found = {
        Lane(BANK if method == Transaction.Method.BANK else ACQUIRER, connector)
        for method, connector in transactions.values_list("method", "connector").distinct()
    }
    operations = CardOperation.objects.unanswered().filter(due).order_by()
    names = operations.values_list("connector", "transaction__connector").distinct()
    return sorted(found | {_operation_lane(own, of_payment) for own, of_payment in names})


def _operation_lane(own_connector: str, payments_connector: str) -> Lane:
    """Return the lane of an operation. Only refunds of transfer payments have their own connector."""
    return Lane(BANK, own_connector) if own_connector else Lane(ACQUIRER, payments_connector)


@database.atomic
def lease(
    lane: Lane,
    *,
    limit: int,
    at: datetime,
    due_at: datetime | None = None,
    created_from: datetime | None = None,
    among: Iterable[UUID] | None = None,
) -> list[Unanswered]:
    """Lease up to `limit` unknown outcomes of a lane, longest due first, and skip locked rows.

    With `among`, lease only these. Query the rail at once, because a lease lasts for one query.
    """
    chosen = _chosen(due_at=due_at, unleased_at=at)
    if created_from is not None:
        chosen &= Q(created_at__gte=created_from)
    if among is not None:
        chosen &= Q(pk__in=list(among))
    found: list[Unanswered] = []
    for queryset in (lane.transactions, lane.operations):
        locked = _with_related(queryset.filter(chosen)).select_for_update(skip_locked=True, of=("self",))
        found += list(locked.order_by("next_query_at")[:limit])
    leased = sorted(found, key=lambda subject: subject.next_query_at or at)[:limit]
    until = at + length()
    for model in (Transaction, CardOperation):
        keys = [subject.pk for subject in leased if isinstance(subject, model)]
        if keys:
            model._default_manager.filter(pk__in=keys).update(query_leased_until=until)
    for subject in leased:
        subject.query_leased_until = until
    return leased


def release(subject: Unanswered) -> None:
    """Release a lease of this process, so that the next query needn't wait for its expiry."""
    held = type(subject)._default_manager.filter(pk=subject.pk, query_leased_until=subject.query_leased_until)
    held.update(query_leased_until=None)
    subject.query_leased_until = None


def length() -> timedelta:
    """Return the duration of a lease, which exceeds any query. A bank's may take two calls."""
    longest: int = max(settings.ACQUIRER_TIMEOUT, settings.BANK_TIMEOUT, settings.PAYSTACK_TIMEOUT)
    return 2 * timedelta(seconds=longest) + MARGIN


def _chosen(*, due_at: datetime | None, unleased_at: datetime | None) -> Q:
    chosen = Q() if due_at is None else Q(next_query_at__lte=due_at)
    if unleased_at is not None:
        chosen &= Q(query_leased_until=None) | Q(query_leased_until__lte=unleased_at)
    return chosen


def _with_related(queryset: QuerySet[Any]) -> QuerySet[Any]:
    """Join the tables that a query to the rail needs."""
    if queryset.model is Transaction:
        return queryset.select_related("business", "challenge")
    return queryset.select_related("transaction__business")
