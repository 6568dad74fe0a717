"""The body of the requests that merchants' endpoints receive, declared field by field."""

import uuid
from datetime import datetime
from typing import Any, NamedTuple

from kit.api.fields.answer_fields import MOMENT, NONE, OBJECT, UUID, Answer, Field, always, one_of
from webhooks.models import Event, event_name


class Envelope(NamedTuple):
    """A delivery of an event, with the representation of its subject."""

    id: uuid.UUID
    event_id: uuid.UUID
    event: str
    data: dict[str, Any]
    created_at: datetime
    is_test: bool


WEBHOOK_EVENT = Answer(
    "WebhookEvent",
    "The request that your endpoint receives. Verify its signature before anything else.",
    Field("id", UUID, "Our identifier of the delivery. At your first endpoint the same as `event_id`.", "5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11"),
    Field("event_id", UUID, "Our identifier of the event; the same in every attempt, and at each of your endpoints.", "5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11"),
    Field("event", one_of(Event.labels), "What happened.", value=lambda envelope: event_name(envelope.event)),
    Field("test", always(True), "Test events only: always `true`.", value=lambda envelope: envelope.is_test or None, omit=NONE),
    Field("created_at", MOMENT, "When it happened.", "2026-01-31T08:00:00.000Z"),
    Field("data", OBJECT, "The object that the event is about, at the time of the event."),
)  # fmt: skip
