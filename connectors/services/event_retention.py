"""Purge of processed events. A replay after that is stored as new, and leads to nothing but a query."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from connectors.models import ProviderEvent, ProviderEventQuerySet
from kit.db.rows.batched_purge import purge_in_order

RETENTION = timedelta(days=90)  # providers repeat for three days at most


def old_events(*, now: datetime) -> ProviderEventQuerySet:
    """Return the processed events past their retention period."""
    return ProviderEvent.objects.finished().filter(received_at__lt=now - RETENTION)


def purge_events(*, now: datetime) -> Iterator[int]:
    """Delete those events; yield the number of each batch."""
    return purge_in_order(ProviderEvent.objects.finished(), dated="received_at", before=now - RETENTION)
