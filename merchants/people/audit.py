"""The audit trail: changes by people and commands, recorded in the transaction of the change."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from merchants.models import AuditEntry, Business


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The actor of a change: a person's e-mail address or a command's name, and an IP address if any."""

    name: str
    address: str | None = None


class Recorded(TypedDict):
    """What a module's own function for entries about its rows passes on to `record`."""

    actor: Actor
    now: datetime
    before: NotRequired[dict[str, Any]]
    after: NotRequired[dict[str, Any]]


def record(
    *,
    action: str,
    actor: Actor,
    business: Business | None,
    now: datetime,
    target: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> AuditEntry:
    """Write an audit entry. `before` and `after` hold plain values and never a secret."""
    return AuditEntry.objects.create(
        business=business,
        actor=actor.name,
        address=actor.address,
        action=action,
        target=target,
        before=before or {},
        after=after or {},
        at=now,
    )
