"""The parts of a PostgreSQL statement that publish an event with the outcome that the statement stores.

`webhooks.publishing` does the same with the ORM.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from webhooks import publishing, versions
from webhooks.listeners import listener_copies
from webhooks.models import subscriptions_to
from webhooks.publishing import NewEvent
from webhooks.sending import wake_up

_DELIVERY = """delivery AS (
    INSERT INTO webhooks_delivery (
        id, shared_event_id, business_id, endpoint_number, subject, event, body, state, held_at,
        next_attempt_at, created_at, attempts_made, manual_attempts, is_manual
    )
    SELECT endpoint.id, NULLIF(%(event_id)s::uuid, endpoint.id), %(business_id)s, number, {row}.id, %(event)s,
           replace(CASE api_version {bodies} END,
               '"id":"' || %(event_id)s::uuid || '"', '"id":"' || endpoint.id || '"'),
           CASE WHEN enabled THEN 'waiting' ELSE 'held' END, CASE WHEN enabled THEN NULL ELSE %(now)s END,
           %(now)s, %(now)s, 0, 0, false
    FROM {row}, (
        SELECT number, api_version, enabled,
               CASE number WHEN 0 THEN %(event_id)s::uuid ELSE gen_random_uuid() END AS id
        FROM webhooks_endpoint
        WHERE business_id = %(business_id)s AND deleted_at IS NULL AND subscribed_events ?| %(words)s
    ) AS endpoint
    RETURNING id, body
)"""
# In a sandbox, listeners receive copies: of the first endpoint's delivery, if it has one.
_COPY = """copy AS (
    INSERT INTO webhooks_listenercopy (listener_id, event_id, event, origin, body, times, created_at)
    SELECT listener.id, %(event_id)s, %(event)s, 'event',
           coalesce((SELECT body FROM delivery WHERE id = %(event_id)s), {newest}), 0, %(now)s
    FROM {row}, webhooks_listener listener
    WHERE business_id = %(business_id)s AND expires_at > %(now)s AND events ? %(event)s
    RETURNING listener_id
)"""
_NO_COPY = "copy AS (SELECT NULL::bigint AS listener_id WHERE false)"

# An array of bodies would be escaped twice, quote by quote.
_BODIES = {version: f"body_{place}" for place, version in enumerate(versions.VERSIONS)}

RESULT = "EXISTS (SELECT FROM delivery), ARRAY(SELECT listener_id FROM copy)"  # for `published`


def delivery_if(row: str) -> str:
    """Return common table expressions that insert an event's delivery and copies if a relation has a row.

    The parameters are `parameters` and the outcome's `business_id` and `now`.
    """
    bodies = " ".join(f"WHEN '{version}' THEN %({name})s" for version, name in _BODIES.items())
    newest = f"%({_BODIES[versions.NEWEST]})s"
    return f"{_DELIVERY}, {_COPY if settings.SANDBOX else _NO_COPY}".format(
        row=row, bodies=bodies, newest=newest
    )


def parameters(new: NewEvent | None, *, now: datetime) -> dict[str, Any]:
    """Return the parameters of an event. Without one, nothing is subscribed to it."""
    if new is None:
        return {"event_id": None, "event": None, "words": None} | dict.fromkeys(_BODIES.values())
    event_id: UUID = uuid.uuid4()
    data = new.data()
    bodies = {
        name: publishing.render(event_id, new.event, data=versions.in_version(version, data), now=now)
        for version, name in _BODIES.items()
    }
    return {
        "event_id": event_id,
        "event": str(new.event),
        "words": list(subscriptions_to(new.event)),
    } | bodies


def published(is_delivered: bool, listeners: Sequence[int]) -> None:  # noqa: FBT001  (the columns of `RESULT`)
    """Wake a sender up, and limit the copies of listeners, after the commit."""
    if is_delivered:
        transaction.on_commit(wake_up.notify, robust=True)
    listener_copies.limit_after_commit(listeners)
