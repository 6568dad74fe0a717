"""Outbox of messages to the account provider: write, lease, and record responses.

A message is written in the transaction that changes its account, under the account's lock, so ids have the order of
the changes. Only an account's oldest unanswered message is leased. Time is the database's. Decision 0027.
"""

from datetime import datetime, timedelta

from django.db import transaction as database
from django.db.models import Exists, OuterRef, Q, QuerySet

from virtual_accounts.models import ProviderMessage, VirtualAccount

# The delay before each further attempt. The last one repeats.
INTERVALS = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
)


def write(account: VirtualAccount, kind: ProviderMessage.Kind, *, now: datetime) -> None:
    """Write a message about an account, which the caller has locked. Earlier ones become due, so that it can follow."""
    if not account.is_static:
        return  # dynamic accounts have no number
    unanswered = ProviderMessage.objects.unanswered().filter(account=account)
    unanswered.filter(next_attempt_at__gt=now).update(next_attempt_at=now)
    ProviderMessage.objects.create(account=account, kind=kind, created_at=now, next_attempt_at=now)


@database.atomic
def lease(*, limit: int, at: datetime, length: timedelta) -> list[ProviderMessage]:
    """Lease up to `limit` due messages, each the oldest unanswered one of its account; skip locked ones."""
    unanswered = ProviderMessage.objects.unanswered()
    earlier = unanswered.filter(account=OuterRef("account"), pk__lt=OuterRef("pk"))
    due = unanswered.filter(
        ~Exists(earlier), Q(leased_until=None) | Q(leased_until__lte=at), next_attempt_at__lte=at
    )
    locked = due.select_related("account").select_for_update(skip_locked=True, of=("self",))
    leased = list(locked.order_by("next_attempt_at", "pk")[:limit])
    ProviderMessage.objects.filter(pk__in=[one.pk for one in leased]).update(leased_until=at + length)
    for one in leased:
        one.leased_until = at + length
    return leased


def record_answer(message: ProviderMessage, *, now: datetime) -> bool:
    """Record that the provider has responded; return False if the lease was lost to another process."""
    held = _held(message)
    return bool(
        held.update(
            answered_at=now,
            next_attempt_at=None,
            leased_until=None,
            attempts_made=message.attempts_made + 1,
            last_error="",
        )
    )


def record_failure(message: ProviderMessage, error: str, *, now: datetime) -> bool:
    """Record a failure and the time of the next attempt; return False if the lease was lost."""
    wait = INTERVALS[min(message.attempts_made, len(INTERVALS) - 1)]
    return bool(
        _held(message).update(
            next_attempt_at=now + wait,
            leased_until=None,
            attempts_made=message.attempts_made + 1,
            last_error=error[: ProviderMessage._meta.get_field("last_error").max_length],
        )
    )


def _held(message: ProviderMessage) -> QuerySet[ProviderMessage]:
    return ProviderMessage.objects.unanswered().filter(pk=message.pk, leased_until=message.leased_until)
