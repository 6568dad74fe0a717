"""Events in API responses, declared field by field. Fields without a value are null."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from kit.api.fields.answer_fields import (
    COUNT,
    FLAG,
    MOMENT,
    POSITION,
    REFERENCE,
    TEXT,
    UUID,
    WHOLE_NUMBER,
    Answer,
    Field,
    ListOf,
    Type,
    one_of,
    page_of,
    up_to,
)
from payments.models import Transaction
from payments.services.events.event_subjects import Subject
from webhooks.models import Attempt, Delivery, Event, event_name

State = Delivery.State

# API names by stored state. Only `TEST_FAILED` differs.
EVENT_STATES = {state.value: state.value for state in State} | {State.TEST_FAILED.value: "test_failed"}


class Shown(NamedTuple):
    """An event with what its answer shows beside it."""

    event: Delivery
    subject: Subject | None
    attempts: Iterable[Attempt] = ()


def _next_attempt_at(shown: Shown) -> datetime | None:
    """Return when the next attempt is due, or None during an attempt."""
    event = shown.event
    is_planned = event.state == State.WAITING and event.lease_token is None
    return event.next_attempt_at if is_planned else None


EVENT_SUBJECT = Answer(
    "EventSubject",
    "What an event is about.",
    Field("type", one_of(["transaction", "refund", "transfer", "settlement", "virtual_account", "payout_batch", "dispute", "journal"]), "What it is."),
    Field("id", UUID, "Its identifier.", "01980a5e-7b00-7c00-8000-000000000001"),
    Field("reference", REFERENCE, "Your reference of the payment, payout, refund or virtual account, of a dispute its payment's; else null.", "order-1042", is_nullable=True),
    Field("request_type", one_of(Transaction.RequestType.values), "Of a transaction; else null.", "payment", is_nullable=True),
)  # fmt: skip
EVENT = Answer(
    "EventRecord",
    "An event and the state of its delivery.",
    Field("id", UUID, "Our identifier of the delivery, by which it is looked up and resent. At your first endpoint the same as `event_id`.", "5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11", "event.pk"),
    Field("event_id", UUID, "Our identifier of the event; the same at each of your endpoints.", "5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11", "event.event_id"),
    Field("endpoint_id", UUID, "The webhook endpoint that it is sent to.", "7a1f2b7e-0c5c-5d0a-9f5e-2d9b6b1d6c11", "event.endpoint_id"),
    Field("event", one_of(Event.labels), "What happened.", value=lambda shown: event_name(shown.event.event)),
    Field(
        "state",
        one_of(EVENT_STATES.values()),
        "`waiting` for an attempt, `held` while the endpoint is disabled, `delivered`, `dead` after the last "
        "attempt, `skipped` if you unsubscribed from it, disabled the endpoint for seven days or deleted it, `test_failed` for a test event.",
        value=lambda shown: EVENT_STATES[shown.event.state],
    ),
    Field("created_at", MOMENT, "When it happened.", "2026-01-31T08:00:00.000Z", "event.created_at"),
    Field("delivered_at", MOMENT, "When your server answered with 2xx.", "2026-01-31T08:00:00.250Z", "event.delivered_at", is_nullable=True),
    Field(
        "next_attempt_at",
        MOMENT,
        "When the next attempt is due; null while one is under way.",
        "2026-01-31T08:00:30.000Z",
        _next_attempt_at,
        is_nullable=True,
    ),
    Field("attempts_made", COUNT, "Automatic and manual ones.", 1, lambda shown: shown.event.attempts_made + shown.event.manual_attempts),
    Field("is_test", FLAG, "A test event of the dashboard.", False, "event.is_test"),
    Field("subject", EVENT_SUBJECT, "The object that the event is about; null for a test event.", is_nullable=True),
)  # fmt: skip
EVENTS_PAGE = page_of(EVENT, "A page of events, newest first.")
EVENT_ATTEMPT = Answer(
    "EventAttempt",
    "One attempt at a delivery.",
    Field("number", POSITION, "1 for the first.", 1),
    Field("is_manual", FLAG, "A resend or a test.", False),
    Field("started_at", MOMENT, "When it started.", "2026-01-31T08:00:00.000Z"),
    Field("status", WHOLE_NUMBER, "The HTTP status of your answer; null without one.", 204, is_nullable=True),
    Field("error", TEXT, "The class of the failure; null after a success.", "timeout", lambda attempt: attempt.error or None, is_nullable=True),
    Field(
        "explanation",
        TEXT,
        "A description of the failure.",
        "No answer within 10 seconds.",
        lambda attempt: attempt.explanation or None,
        is_nullable=True,
    ),
    Field(
        "total_ms",
        Type({"type": "number"}),
        "Milliseconds from the lookup of your host name to the end of your response's headers.",
        38.5,
        lambda attempt: round(attempt.total_ms, 1),
    ),
    Field(
        "response_body",
        up_to(2_048),
        "The first 2 KiB of your answer's body, with card numbers masked; null without a body, and once it has been purged.",
        "order not found",
        lambda attempt: bytes(attempt.excerpt).decode(errors="replace") or None,
        is_nullable=True,
    ),
)  # fmt: skip
EVENT_IN_DETAIL = EVENT.extended(
    "EventInDetail",
    "An event with its body and its attempts.",
    Field(
        "body",
        TEXT,
        "The body exactly as it is sent in every attempt; null once it has been purged.",
        '{"event":"payment.success"}',
        lambda shown: shown.event.body or None,
        is_nullable=True,
    ),
    Field("attempts", ListOf(EVENT_ATTEMPT), "The stored attempts, oldest first."),
)  # fmt: skip


def represent_event(event: Delivery, subject: Subject | None) -> dict[str, Any]:
    """Return an event with the state of its delivery."""
    return EVENT.represent(Shown(event, subject))


def represent_event_in_detail(
    event: Delivery, subject: Subject | None, *, attempts: Iterable[Attempt]
) -> dict[str, Any]:
    """Return an event with its attempts and its exact body, until that is purged."""
    return EVENT_IN_DETAIL.represent(Shown(event, subject, attempts))
