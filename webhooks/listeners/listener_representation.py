"""Answers about listeners, declared field by field."""

from kit.api.fields.answer_fields import (
    COUNT,
    MOMENT,
    POSITION,
    TEXT,
    UUID,
    Answer,
    Field,
    ListOf,
    Type,
    one_of,
)
from webhooks.listeners.listener_copies import MOST_KEPT, Origin
from webhooks.models import Event, event_name

_EXAMPLE = [Event.PAYMENT_SUCCESS.label, Event.PAYMENT_FAILED.label]
_KINDS = Type(
    {"type": "array", "items": {"type": "string", "enum": Event.labels}, "maxItems": len(Event.labels)},
    lambda events: [event_name(each) for each in events],
)

LISTENER = Answer(
    "Listener",
    "A listener, which receives copies of your events for as long as it polls.",
    Field("name", TEXT, "Your name for it.", "ada-laptop", "listener.name"),
    Field("events", _KINDS, "The kinds of events that are copied.", _EXAMPLE, "listener.events"),
    Field(
        "hash_key",
        TEXT,
        "The key with which you sign the copies, and your receiver verifies them. The same each time.",
        "whk_listen_Zk3W9sT1vXq8LrB6yNc0MdH5uJf2GaP7eQo4iRzVxKm",
    ),
    Field("waiting", COUNT, "How many copies are not acknowledged.", 0),
    Field("expires_at", MOMENT, "When it ends, unless it polls before.", "2026-01-31T09:00:00.000Z", "listener.expires_at"),
)  # fmt: skip
LISTENER_STATE = Answer(
    "ListenerState",
    "A live listener, without its key.",
    *(field for field in LISTENER.fields if field.name != "hash_key"),
)
LISTENERS = Answer(
    "ListenerList", "Live listeners.", Field("data", ListOf(LISTENER_STATE), "The listeners, by name.")
)
EVENT_COPY = Answer(
    "EventCopy",
    "A copy of an event.",
    Field("event_id", UUID, "Our identifier of the event. Acknowledge it by this.", "5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11"),
    Field("event", one_of(Event.labels), "What happened.", value=lambda copy: event_name(copy.event)),
    Field("created_at", MOMENT, "When it happened.", "2026-01-31T08:00:00.000Z"),
    Field("origin", one_of(Origin.values), "`event` when it happened, `resend`, or `test` for a test event."),
    Field("times", POSITION, "How often it was returned, this time included. Send it as `X-Service-Attempt`.", 1),
    Field(
        "body",
        TEXT,
        "The body that your endpoint receives. Sign and send its UTF-8 bytes exactly.",
        '{"event":"payment.success"}',
    ),
)  # fmt: skip
LISTENER_POLL = Answer(
    "ListenerPoll",
    "What is new for a listener.",
    Field("events", ListOf(EVENT_COPY), "The oldest copies that are not acknowledged.", value="copies"),
    Field("waiting", COUNT, "How many copies are not acknowledged, including these.", 1),
    Field("dropped", COUNT, f"How many copies were deleted since it began, because there were more than {MOST_KEPT:,}.", 0),
    Field("poll_after", COUNT, "Seconds to wait before the next poll.", 0),
)  # fmt: skip
ENDED_LISTENER = Answer(
    "EndedListener",
    "A listener that has ended.",
    Field("name", TEXT, "Your name for it.", "ada-laptop"),
)
