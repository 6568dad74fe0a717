"""Process events again on request of staff."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from connectors.models import ProviderEvent
from merchants.people import audit
from merchants.people.audit import Actor


def process_again(event_ids: Iterable[UUID], *, actor: Actor, now: datetime, reason: str) -> int:
    """Make processed events due again, and return their number. Those that wait are left as they are."""
    return sum(_process_one_again(each, actor=actor, now=now, reason=reason) for each in event_ids)


@database.atomic
def _process_one_again(event_id: UUID, *, actor: Actor, now: datetime, reason: str) -> bool:
    if not ProviderEvent.objects.finished().filter(pk=event_id).to_process_again(now=now):
        return False
    event = ProviderEvent.objects.select_related("transaction__business").get(pk=event_id)
    audit.record(
        action="provider_event.processed_again",
        actor=actor,
        business=event.transaction.business if event.transaction else None,
        target=str(event_id),
        after={"reason": reason},
        now=now,
    )
    return True
