"""Outbox of messages to the account provider: write, lease, and record responses.

A message about an account is written in the transaction that changes its account, under the account's lock, so ids have the order of
the changes. Only an account's oldest unanswered message is leased. Time is the database's. Decision 0027.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction as database
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Least

from virtual_accounts.models import ProviderMessage, VirtualAccount

FIRST_LEASE = timedelta(seconds=30)  # of the request that opens an account
# The delay before each further attempt. The last one repeats.
INTERVALS = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
)
# Before the next attempt of what wasn't answered at all, at most: an outage of an hour delays nothing by another hour.
UNANSWERED_INTERVAL = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Again:
    """A message has to be sent again: after the usual interval, with the reason for staff, or at a time."""

    why: str = ""
    at: datetime | None = None
    is_answer: bool = True  # False: the provider didn't answer


def write(account: VirtualAccount, kind: ProviderMessage.Kind, *, now: datetime) -> None:
    """Write a message about an account, which the caller has locked. Earlier ones become due, so that it can follow."""
    if not account.is_static or account.provider_account:
        return  # dynamic accounts have no number, and a provider that opens accounts can't stop one for a while
    unanswered = ProviderMessage.objects.unanswered().filter(account=account)
    unanswered.filter(next_attempt_at__gt=now).update(next_attempt_at=now)
    ProviderMessage.objects.create(account=account, kind=kind, created_at=now, next_attempt_at=now)


def write_opening(account: VirtualAccount, *, now: datetime) -> ProviderMessage:
    """Write the message that opens an account, leased to the caller, who sends it first."""
    return ProviderMessage.objects.create(
        account=account,
        kind=ProviderMessage.Kind.OPEN,
        provider_account=account.provider_account,
        created_at=now,
        next_attempt_at=now,
        leased_until=now + FIRST_LEASE,
    )


def ask(
    subject: str,
    *,
    provider_account: str,
    at: datetime,
    now: datetime,
    kind: ProviderMessage.Kind = ProviderMessage.Kind.LOOKUP,
) -> None:
    """Have the provider asked about a transfer at a time. If that was planned before, the earlier time counts.

    An answer that is awaited now may be older than what is asked about. Its lease ends, so that it doesn't count.
    """
    question = {"provider_account": provider_account, "kind": kind, "subject": subject}
    planned = {"created_at": now, "next_attempt_at": at}
    changes: dict[str, Any] = {"next_attempt_at": Least(F("next_attempt_at"), Value(at))}
    if at <= now:
        changes["leased_until"] = None
    while True:
        message, is_new = ProviderMessage.objects.get_or_create(**question, defaults=planned)
        if is_new or ProviderMessage.objects.filter(pk=message.pk).update(**changes):
            return  # else it has been answered meanwhile, and is written anew


def is_asked(subject: str, *, provider_account: str, now: datetime) -> bool:
    """Return whether the provider hasn't answered yet what became of a transfer. It may be asked again much later."""
    questions = ProviderMessage.objects.unanswered().filter(
        provider_account=provider_account, subject=subject
    )
    return bool(questions.filter(Q(next_attempt_at__lte=now) | ~Q(last_error="")).exists())


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
    if message.account_id is None:
        return bool(held.delete()[0])
    return bool(
        held.update(
            answered_at=now,
            next_attempt_at=None,
            leased_until=None,
            attempts_made=message.attempts_made + 1,
            last_error="",
        )
    )


def record_failure(message: ProviderMessage, error: str, *, now: datetime, is_answer: bool = True) -> bool:
    """Record a failure and the time of the next attempt; return False if the lease was lost."""
    wait = INTERVALS[min(message.attempts_made, len(INTERVALS) - 1)]
    wait = wait if is_answer else min(wait, UNANSWERED_INTERVAL)
    return bool(
        _held(message).update(
            next_attempt_at=now + wait,
            leased_until=None,
            attempts_made=message.attempts_made + 1,
            last_error=error[: ProviderMessage._meta.get_field("last_error").max_length],
        )
    )


def postpone(message: ProviderMessage, *, until: datetime) -> None:
    """Have an answered question asked again at a time."""
    _held(message).update(next_attempt_at=until, leased_until=None, attempts_made=0, last_error="")


def _held(message: ProviderMessage) -> QuerySet[ProviderMessage]:
    return ProviderMessage.objects.unanswered().filter(pk=message.pk, leased_until=message.leased_until)
