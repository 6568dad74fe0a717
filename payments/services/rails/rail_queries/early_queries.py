"""Query a rail before the schedule does, because something hints at an outcome."""

from collections.abc import Iterable
from datetime import datetime

from payments.models import CardOperation, Transaction
from payments.services.rails.rail_queries import rail_outages
from payments.services.rails.rail_queries.query_leases import Unanswered


def open_queries(transaction: Transaction) -> list[Unanswered]:
    """Return what a rail is queried about: the transaction, and its captures, voids and refunds."""
    return [
        *Transaction.objects.unanswered().filter(pk=transaction.pk),
        *CardOperation.objects.unanswered().filter(transaction=transaction),
    ]


def make_due(transaction: Transaction, *, now: datetime) -> bool:
    """Make the queries about a transaction due, in a database transaction.

    Return False if one has to be made due again later: its row is locked, or a query that began earlier is in flight.
    """
    rail_outages.bring_forward(Transaction.objects.unanswered().filter(pk=transaction.pk), now=now)
    rail_outages.bring_forward(CardOperation.objects.unanswered().filter(transaction=transaction), now=now)
    return not any(_is_in_use(subject, now=now) for subject in open_queries(transaction))


def are_waiting(subjects: Iterable[Unanswered], *, since: datetime) -> bool:
    """Return whether a query that was made due at a time was not answered yet. An answer schedules the next one."""
    return any(subject.next_query_at is None or subject.next_query_at <= since for subject in subjects)


def _is_in_use(subject: Unanswered, *, now: datetime) -> bool:
    is_leased = subject.query_leased_until is not None and subject.query_leased_until > now
    return is_leased or subject.next_query_at is None or subject.next_query_at > now
