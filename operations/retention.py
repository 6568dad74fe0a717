"""Retention periods: the list of all data that is purged.

`manage.py purge` and the schedule process the list. Only finished rows are purged, in batches of a few thousand.
Transactions, payment links, the ledger, settlement and the audit trail are kept. Hashes of transactions that cover a
card number are erased, and what payers entered at payment links.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, Q, QuerySet

from connectors.services import event_retention
from merchants.api import nonces, request_log
from merchants.models import Invitation, LimitSlot
from payments.services.links import link_retention
from payments.services.replays import idempotency
from webhooks import purge as deliveries
from webhooks.exams import exams
from webhooks.listeners import listeners

PIECE = 1_000  # rows


class OldRows(Protocol):
    def __call__(self, *, now: datetime) -> QuerySet: ...


class Purge(Protocol):
    def __call__(self, *, now: datetime) -> Iterator[int]: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """A kind of rows with a retention period."""

    name: str  # in JSON
    one: str  # what a row is called
    many: str
    old: OldRows  # rows past their retention period
    purge: Purge  # purges them; yields the number of each batch


def _sessions(*, now: datetime) -> QuerySet[Session]:
    return Session.objects.filter(expire_date__lt=now)


def _places_signed_in(*, now: datetime) -> QuerySet[UserSession]:  # noqa: ARG001
    """Return entries of the list of sessions whose session has ended."""
    alive = Session.objects.filter(session_key=OuterRef("session_key"))
    found: QuerySet[UserSession] = UserSession.objects.filter(~Exists(alive))
    return found


def _invitations(*, now: datetime) -> QuerySet[Invitation]:
    before = now - timedelta(days=settings.INVITATION_RETENTION)
    return Invitation.objects.filter(Q(ended_at__lt=before) | Q(expires_at__lt=before))


def _limit_slots(*, now: datetime) -> QuerySet[LimitSlot]:
    return LimitSlot.objects.filter(expires_at__lt=now)


def _by_keys(old: OldRows) -> Purge:
    """Return a function that purges rows in batches, for tables with few old rows at once."""

    def purge(*, now: datetime) -> Iterator[int]:
        while keys := list(old(now=now).order_by("pk").values_list("pk", flat=True)[:PIECE]):
            deleted, _ = old(now=now).filter(pk__in=keys).delete()
            yield deleted

    return purge


# fmt: off
EVERYTHING = (
    Kept("card_number_hashes", "hash of a card number", "hashes of card numbers",
         idempotency.old_card_number_hashes, idempotency.erase_card_number_hashes),
    Kept("nonces", "nonce", "nonces", nonces.old_nonces, nonces.purge_nonces),
    Kept("requests", "logged request", "logged requests",
         request_log.old_requests, request_log.purge_requests),
    Kept("failed_calls", "count of failed calls", "counts of failed calls",
         request_log.old_counts, _by_keys(request_log.old_counts)),
    Kept("payloads", "body of a finished delivery", "bodies of finished deliveries",
         deliveries.old_payloads, deliveries.purge_payloads),
    Kept("attempts", "attempt at a delivery", "attempts at deliveries",
         deliveries.old_attempts, deliveries.purge_attempts),
    Kept("provider_events", "processed event of a provider", "processed events of providers",
         event_retention.old_events, event_retention.purge_events),
    Kept("listeners", "expired listener", "expired listeners",
         listeners.old_listeners, _by_keys(listeners.old_listeners)),
    Kept("listener_copies", "copy for an ended listener", "copies for ended listeners",
         listeners.old_copies, _by_keys(listeners.old_copies)),
    Kept("exams", "exam of a receiver", "exams of receivers", exams.old_exams, _by_keys(exams.old_exams)),
    Kept("sessions", "expired session", "expired sessions", _sessions, _by_keys(_sessions)),
    Kept("signed_in", "entry of an ended session", "entries of ended sessions",
         _places_signed_in, _by_keys(_places_signed_in)),
    Kept("unused_checkouts", "checkout without an attempt", "checkouts without an attempt",
         link_retention.unused, _by_keys(link_retention.unused)),
    Kept("unpaid_checkouts", "checkout that wasn't paid", "checkouts that weren't paid",
         link_retention.unpaid, link_retention.erase_unpaid),
    Kept("paid_checkouts", "old paid checkout", "old paid checkouts",
         link_retention.paid, link_retention.erase_paid),
    Kept("link_days", "day of a payment link", "days of payment links",
         link_retention.old_days, _by_keys(link_retention.old_days)),
    Kept("card_attempts", "hash of a card used at payment links", "hashes of cards used at payment links",
         link_retention.old_card_attempts, _by_keys(link_retention.old_card_attempts)),
    Kept("limit_slots", "expired slot of a limit", "expired slots of limits",
         _limit_slots, _by_keys(_limit_slots)),
    Kept("invitations", "old invitation", "old invitations", _invitations, _by_keys(_invitations)),
)
# fmt: on
