"""The statement that stores the outcome of a transaction on PostgreSQL: everything that `finish` stores, in one round trip.

`transitions` has the plain version, for SQLite and for payments of links; a test compares what both store. A separate
statement for each part takes five to seven round trips (decision 0124).
"""

import uuid
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.db import transaction as database

from ledger import services as ledger
from ledger.services import Booking
from payments.models import AlreadyTransitioned, Transaction, Transition
from payments.models.transactions import OUTCOME_FIELDS
from webhooks import listener_copies, publishing, wake_up
from webhooks.models import category_of
from webhooks.publishing import NewEvent

# Every part reads `moved`, which is empty if another caller was first: then the statement stores nothing. psycopg parses
# a statement of more than 4,096 characters or 50 parameters anew each time.
_MOVE = f"""WITH moved AS (
    UPDATE payments_transaction SET {", ".join(f"{name} = %({name})s" for name in OUTCOME_FIELDS)}
    WHERE id = %(id)s AND awaiting = %(awaited)s
    RETURNING id
),
transition AS (
    INSERT INTO payments_transition (transaction_id, attribute, before, after, cause, at)
    SELECT id, %(attribute)s, %(before)s, %(after)s, %(cause)s, %(at)s FROM moved
),
delivery AS (
    INSERT INTO webhooks_delivery (
        id, business_id, subject, event, body, state, held_at, next_attempt_at, created_at,
        attempts_made, manual_attempts, is_manual
    )
    SELECT %(event_id)s, %(business_id)s, moved.id, %(event)s, %(body)s,
           CASE WHEN enabled THEN 'waiting' ELSE 'held' END, CASE WHEN enabled THEN NULL ELSE %(now)s END,
           %(now)s, %(now)s, 0, 0, false
    FROM moved, webhooks_endpoint
    WHERE business_id = %(business_id)s AND subscribed_events ? %(category)s
    RETURNING 1
)"""  # noqa: S608  (our own column names)

# In a sandbox, listeners receive copies.
_COPY = """copy AS (
    INSERT INTO webhooks_listenercopy (listener_id, event_id, event, origin, body, times, created_at)
    SELECT listener.id, %(event_id)s, %(event)s, 'event', %(body)s, 0, %(now)s
    FROM moved, webhooks_listener listener
    WHERE business_id = %(business_id)s AND expires_at > %(now)s AND events ? %(event)s
    RETURNING listener_id
)"""
_NO_COPY = "copy AS (SELECT NULL::bigint AS listener_id WHERE false)"
_RESULT = (
    "SELECT EXISTS (SELECT FROM moved), EXISTS (SELECT FROM delivery), ARRAY(SELECT listener_id FROM copy)"
)

_PARTS = (_MOVE, _COPY if settings.SANDBOX else _NO_COPY)
WITHOUT_ENTRY = f"{', '.join(_PARTS)} {_RESULT}"
WITH_ENTRY = f"{', '.join((*_PARTS, ledger.entry_if('moved')))} {_RESULT}"


def stores_outcome_of(transaction: Transaction) -> bool:
    """Return whether this statement stores the outcome. An attempt at a payment link has more to store."""
    return connection.vendor == "postgresql" and transaction.payment_link_id is None


def store(
    finished: Transaction,
    transition: Transition,
    *,
    awaited: str,
    event: NewEvent | None,
    entry: Booking | None,
    now: datetime,
) -> None:
    """Store an outcome, if the transaction still awaits what it awaited.

    :raises AlreadyTransitioned: another caller was first
    """
    if awaited == Transaction.Awaiting.NOTHING:
        raise AlreadyTransitioned
    parameters = {name: _plain(getattr(finished, name)) for name in OUTCOME_FIELDS}
    parameters |= _parameters_of(transition) | _parameters_of_event(event, now=now)
    parameters |= {"awaited": awaited, "business_id": finished.business_id, "now": now}
    if entry is not None:
        parameters |= entry.parameters
    with connection.cursor() as cursor:
        cursor.execute(WITHOUT_ENTRY if entry is None else WITH_ENTRY, parameters)
        is_moved, is_delivered, listeners = cursor.fetchone()
    if not is_moved:
        raise AlreadyTransitioned
    if is_delivered:
        database.on_commit(wake_up.notify, robust=True)
    listener_copies.limit_after_commit(listeners)


def _parameters_of(transition: Transition) -> dict[str, Any]:
    return {
        "id": transition.transaction_id,
        "attribute": transition.attribute,
        "before": _plain(transition.before),
        "after": _plain(transition.after),
        "cause": _plain(transition.cause),
        "at": transition.at,
    }


def _parameters_of_event(event: NewEvent | None, *, now: datetime) -> dict[str, Any]:
    """Return the parameters of the delivery and the copies. Without an event, nothing is subscribed to it."""
    if event is None:
        return {"event_id": None, "event": None, "category": None, "body": None}
    event_id = uuid.uuid4()
    return {
        "event_id": event_id,
        "event": _plain(event.event),
        "category": _plain(category_of(event.event)),
        "body": publishing.render(event_id, event.event, data=event.data(), now=now),
    }


def _plain(value: Any) -> Any:
    """Return a choice as the text that the driver stores."""
    return str(value) if isinstance(value, str) else value
