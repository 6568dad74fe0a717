"""When a business is reminded of a dispute that it hasn't answered."""

from collections.abc import Collection
from datetime import datetime

from disputes.models import Dispute, DisputeStep

# The part of the time from intake to the deadline that is over.
REMINDERS = {DisputeStep.Kind.HALF_TIME: 0.5, DisputeStep.Kind.LAST_QUARTER: 0.75}


def next_reminder(dispute: Dispute, reminded: Collection[str]) -> datetime | None:
    """Return when the next reminder is due, or None after the last one and without a deadline."""
    kind = next_kind(reminded)
    if kind is None or dispute.respond_by is None or dispute.respond_by <= dispute.created_at:
        return None
    return dispute.created_at + REMINDERS[kind] * (dispute.respond_by - dispute.created_at)


def next_kind(reminded: Collection[str]) -> DisputeStep.Kind | None:
    return next((kind for kind in REMINDERS if kind not in reminded), None)
