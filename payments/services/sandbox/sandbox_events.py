"""Advance an event in the sandbox: the next attempt of its delivery is made now."""

import threading
import time
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction as database

from kit.db.clock import database_now
from merchants.models import AuditEntry
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState
from payments.services.sandbox import sandbox_turns
from webhooks import services as webhooks
from webhooks.models import Delivery

ACTION = "sandbox.event_advanced"
LONGEST_WAIT = timedelta(seconds=12)  # for the attempt, which takes up to 10
RESENDABLE = {Delivery.State.DELIVERED, Delivery.State.DEAD}
PAUSE = 0.05  # seconds between two queries for the result of the attempt
# Calls of a process that wait for more than a turn. Each occupies a web thread, of which a process has few, and a slow
# endpoint of one business must not stop the others'.
LONG_WAITS = 2

_long_waits = threading.BoundedSemaphore(LONG_WAITS)


def advance_event(delivery: Delivery, *, actor: Actor) -> Delivery:
    """Have the next attempt of a waiting delivery made now, and return the delivery as it is afterwards.

    A dispatcher makes the attempt. If it takes longer than `LONGEST_WAIT`, or than a turn while `LONG_WAITS` other
    calls wait, the delivery is returned without its result. Call it outside a database transaction.

    :raises InvalidState: no attempt is planned, one is in progress, or another call advances the event
    """
    now = make_attempt_due(delivery, actor=actor)
    is_long = _long_waits.acquire(blocking=False)
    try:
        wait = LONGEST_WAIT if is_long else sandbox_turns.TURN
        found = _await_attempt(delivery.pk, due=now, wait=wait)
    finally:
        if is_long:
            _long_waits.release()
    sandbox_turns.end(now)
    return found


@database.atomic
def make_attempt_due(delivery: Delivery, *, actor: Actor) -> datetime:
    """Make the next attempt of a waiting delivery due now, and return that time. The update locks the delivery.

    :raises InvalidState: no attempt is planned, one is in progress, or another call advances the event
    """
    now = database_now()
    target = str(delivery.pk)
    if not webhooks.make_due_now(delivery.pk, now=now):
        state = "being sent" if delivery.state == Delivery.State.WAITING else delivery.state
        advice = " You can resend it." if delivery.state in RESENDABLE else ""
        raise InvalidState(f"No attempt of this event is planned for later. It is {state}.{advice}")
    if sandbox_turns.is_taken(delivery.business, action=ACTION, target=target, now=now):
        raise InvalidState("This event is being advanced by another call.")
    audit.record(
        action=ACTION,
        actor=actor,
        business=delivery.business,
        target=target,
        after={"attempt": delivery.attempts_count + 1},
        now=now,
    )
    return now


def advanced_attempts(delivery: Delivery) -> frozenset[int]:
    """Return the numbers of the attempts of a delivery that were made due before their time."""
    entries = AuditEntry.objects.filter(target=str(delivery.pk), action=ACTION, business=delivery.business_id)
    return frozenset(entry["attempt"] for entry in entries.values_list("after", flat=True))


def _await_attempt(delivery_id: UUID, *, due: datetime, wait: timedelta) -> Delivery:
    while True:
        found = Delivery.objects.select_related("business").get(pk=delivery_id)
        is_due = found.lease_token is not None or (found.next_attempt_at or due) <= due
        if found.state != Delivery.State.WAITING or not is_due or database_now() - due > wait:
            return found
        time.sleep(PAUSE)
