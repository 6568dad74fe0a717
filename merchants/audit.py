"""The audit trail: what people and commands change, told in the same transaction as the change."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from merchants.models import AuditEntry, Business


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts: a person by e-mail address, or a command by name; and from which address, if any."""

    name: str
    address: str | None = None


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
    """Write one entry. `before` and `after` hold plain values and never a secret."""
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
