"""Turns: of simultaneous calls that advance the same thing in the sandbox, only one does.

A call that waits in a queue while another one is answered can't be told from a later call. So calls within `TURN` of
the last one count as simultaneous, and an answer is held back until its turn has ended: a client that waits for each
answer never sees a refusal.
"""

import time
from datetime import datetime, timedelta

from kit.db.clock import database_now
from merchants.models import AuditEntry, Business

TURN = timedelta(seconds=1)


def is_taken(business: Business, *, action: str, target: str, now: datetime) -> bool:
    """Return whether another call has the turn. Call it under the lock of what is advanced.

    The audit entry of that call, written under the same lock, marks when its turn began.
    """
    entries = AuditEntry.objects.filter(target=target, action=action, business=business)
    return entries.filter(at__gt=now - TURN).exists()


def end(began_at: datetime) -> None:
    """Wait until a turn has ended. Call it outside a database transaction."""
    left = began_at + TURN - database_now()
    if left > timedelta(0):
        time.sleep(left.total_seconds())
