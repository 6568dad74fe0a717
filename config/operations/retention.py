"""Retention periods: the list of all data that is purged.

`manage.py purge` and the schedule process the list. Only finished rows are purged, in batches of a few thousand.
Transactions, the ledger, settlement and the audit trail are kept. Only hashes of transactions that cover a card
number are erased.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, Q, QuerySet

from merchants import authentication, request_log
from merchants.models import Invitation, LimitSlot
from payments.services import idempotency
from webhooks import purge as deliveries

PIECE = 1_000  # rows


@dataclass(frozen=True, slots=True)
class Kept:
    """A kind of rows with a retention period."""

    name: str  # in JSON
    one: str  # what a row is called
    many: str
    old: Callable[[datetime], QuerySet]  # rows past their retention period
    forget: Callable[[datetime], Iterator[int]]  # purges them; yields the number of each batch


def _sessions(now: datetime) -> QuerySet[Session]:
    return Session.objects.filter(expire_date__lt=now)


def _places_signed_in(_now: datetime) -> QuerySet[UserSession]:
    """Return entries of the list of sessions whose session has ended."""
    alive = Session.objects.filter(session_key=OuterRef("session_key"))
    found: QuerySet[UserSession] = UserSession.objects.filter(~Exists(alive))
    return found


def _invitations(now: datetime) -> QuerySet[Invitation]:
    before = now - timedelta(days=settings.INVITATION_RETENTION)
    return Invitation.objects.filter(Q(ended_at__lt=before) | Q(expires_at__lt=before))


def _limit_slots(now: datetime) -> QuerySet[LimitSlot]:
    return LimitSlot.objects.filter(expires_at__lt=now)


def _by_keys(old: Callable[[datetime], QuerySet]) -> Callable[[datetime], Iterator[int]]:
    """Return a function that purges rows in batches, for tables with few old rows at once."""

    def forget(now: datetime) -> Iterator[int]:
        while keys := list(old(now).order_by("pk").values_list("pk", flat=True)[:PIECE]):
            deleted, _ = old(now).filter(pk__in=keys).delete()
            yield deleted

    return forget


EVERYTHING = (
    Kept(
        "card_number_hashes",
        "hash of a card number",
        "hashes of card numbers",
        lambda now: idempotency.old_card_number_hashes(now=now),
        lambda now: idempotency.erase_card_number_hashes(now=now),
    ),
    Kept(
        "nonces",
        "nonce",
        "nonces",
        lambda now: authentication.old_nonces(now=now),
        lambda now: authentication.purge_nonces(now=now),
    ),
    Kept(
        "requests",
        "logged request",
        "logged requests",
        lambda now: request_log.old_requests(now=now),
        lambda now: request_log.purge_requests(now=now),
    ),
    Kept(
        "failed_calls",
        "count of failed calls",
        "counts of failed calls",
        lambda now: request_log.old_counts(now=now),
        _by_keys(lambda now: request_log.old_counts(now=now)),
    ),
    Kept(
        "payloads",
        "body of a finished delivery",
        "bodies of finished deliveries",
        lambda now: deliveries.old_payloads(now=now),
        lambda now: deliveries.purge_payloads(now=now),
    ),
    Kept(
        "attempts",
        "attempt at a delivery",
        "attempts at deliveries",
        lambda now: deliveries.old_attempts(now=now),
        lambda now: deliveries.purge_attempts(now=now),
    ),
    Kept("sessions", "expired session", "expired sessions", _sessions, _by_keys(_sessions)),
    Kept(
        "signed_in",
        "entry of an ended session",
        "entries of ended sessions",
        _places_signed_in,
        _by_keys(_places_signed_in),
    ),
    Kept(
        "limit_slots",
        "expired slot of a limit",
        "expired slots of limits",
        _limit_slots,
        _by_keys(_limit_slots),
    ),
    Kept("invitations", "old invitation", "old invitations", _invitations, _by_keys(_invitations)),
)
