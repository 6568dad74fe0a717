"""Who receives which e-mails of a business. Members turn kinds off for themselves; mails about security can't be.

>>> [kind.value for kind in kinds_for("developer")]
['endpoints', 'rates']
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db import models, transaction

from merchants.models import Business, Member, MutedNotification
from merchants.people.roles import Role

Kind = MutedNotification.Kind


@dataclass(frozen=True, slots=True)
class Notification:
    """A kind of e-mail: what it is about, and the roles that receive it."""

    text: str
    roles: frozenset[Role]


NOTIFICATIONS = {
    Kind.DISPUTES: Notification(
        "A dispute is opened, needs a response soon, changes or ends", frozenset({Role.OWNER, Role.FINANCE})
    ),
    Kind.ENDPOINTS: Notification(
        "A webhook endpoint fails, or accepts events again", frozenset({Role.OWNER, Role.DEVELOPER})
    ),
    Kind.BATCHES: Notification(
        "Payouts wait for your approval or were not approved in time, or a batch waits for money",
        frozenset({Role.OWNER, Role.FINANCE}),
    ),
    Kind.SETTLEMENTS: Notification(
        "A settlement payout fails or is returned, or its schedule is paused", frozenset({Role.OWNER})
    ),
    Kind.RATES: Notification(
        "Payments fail more often than in the same hours of last week",
        frozenset({Role.OWNER, Role.DEVELOPER}),
    ),
}


def recipients(business: Business, kind: Kind) -> models.QuerySet[Member, str]:
    """Return the e-mail addresses that a mail goes to."""
    members = Member.objects.active(business, NOTIFICATIONS[kind].roles)
    return members.exclude(muted__kind=kind).addresses()


def kinds_for(role: str) -> list[Kind]:
    """Return the kinds that a role receives."""
    return [kind for kind, notification in NOTIFICATIONS.items() if role in notification.roles]


def muted_by(member: Member) -> set[str]:
    return set(MutedNotification.objects.filter(member=member).values_list("kind", flat=True))


@transaction.atomic
def choose(member: Member, wanted: Collection[str]) -> None:
    """Receive these kinds, and no other kind of the member's role."""
    off: Iterable[Kind] = [kind for kind in kinds_for(member.role) if kind not in wanted]
    MutedNotification.objects.filter(member=member).exclude(kind__in=off).delete()
    MutedNotification.objects.bulk_create(
        [MutedNotification(member=member, kind=kind) for kind in off], ignore_conflicts=True
    )
