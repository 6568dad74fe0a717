"""Counts of payment links per day: views and checkouts begun."""

import hashlib
from datetime import UTC, datetime
from uuid import UUID

import structlog
from django.core.cache import cache
from django.db import DatabaseError
from django.db.models import F

from kit.redis_errors import redis_error
from payments.metrics import CHECKOUT_STEPS
from payments.models import LinkDay

log = structlog.get_logger("sluice.links")


VIEW_COUNTS_FOR = 1_800  # seconds: an address is counted once


def count_view(link_id: UUID, *, network: str, now: datetime) -> None:
    """Count a view by a browser, once per address and half hour. A hint: its failure fails nothing."""
    key = hashlib.sha256(f"{link_id} {network}".encode()).hexdigest()
    try:
        if cache.add(f"link-view:{key}", 1, timeout=VIEW_COUNTS_FOR):
            _count(link_id, "opened", now=now)
            CHECKOUT_STEPS.labels("opened").inc()
    except (redis_error(), DatabaseError) as error:
        log.warning("view not counted", error=type(error).__name__)


def count_started(link_id: UUID, *, now: datetime) -> None:
    """Count a checkout, in the database transaction that creates it."""
    _count(link_id, "started", now=now)


def _count(link_id: UUID, column: str, *, now: datetime) -> None:
    LinkDay.objects.bulk_create(
        [LinkDay(link_id=link_id, day=now.astimezone(UTC).date())], ignore_conflicts=True
    )
    LinkDay.objects.filter(link_id=link_id, day=now.astimezone(UTC).date()).update(**{column: F(column) + 1})
