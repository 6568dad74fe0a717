"""Event representation of the API. Fields without a value are null."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from kit.timestamps import timestamp
from payments.services.event_subjects import Subject
from webhooks.models import Attempt, Delivery, event_name

State = Delivery.State

# API names by stored state. Only `TEST_FAILED` differs.
EVENT_STATES = {state.value: state.value for state in State} | {State.TEST_FAILED.value: "test_failed"}


def represent_event(event: Delivery, subject: Subject | None) -> dict[str, Any]:
    """Return an event with the state of its delivery."""
    return {
        "event_id": str(event.pk),
        "event": event_name(event.event),
        "state": EVENT_STATES[event.state],
        "created_at": timestamp(event.created_at),
        "delivered_at": _moment(event.delivered_at),
        "next_attempt_at": _moment(_next_attempt_at(event)),
        "attempts_made": event.attempts_made + event.manual_attempts,
        "is_test": event.is_test,
        "subject": _subject(subject) if subject else None,
    }


def represent_event_in_detail(
    event: Delivery, subject: Subject | None, *, attempts: Iterable[Attempt]
) -> dict[str, Any]:
    """Return an event with its attempts and its exact body, until that is purged."""
    return represent_event(event, subject) | {
        "body": event.body or None,
        "attempts": [_attempt(attempt) for attempt in attempts],
    }


def _next_attempt_at(event: Delivery) -> datetime | None:
    """Return when the next attempt is due, or None during an attempt."""
    is_planned = event.state == State.WAITING and event.lease_token is None
    return event.next_attempt_at if is_planned else None


def _subject(subject: Subject) -> dict[str, str | None]:
    return {
        "type": subject.type,
        "id": str(subject.id),
        "reference": subject.reference,
        "request_type": subject.request_type,
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "is_manual": attempt.is_manual,
        "started_at": timestamp(attempt.started_at),
        "status": attempt.status,
        "error": attempt.error or None,
        "explanation": attempt.explanation or None,
        "total_ms": round(attempt.total_ms, 1),
    }


def _moment(moment: datetime | None) -> str | None:
    return timestamp(moment) if moment is not None else None
