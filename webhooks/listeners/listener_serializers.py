"""Requests of listeners."""

from typing import Any

from kit.api.fields.strict_fields import UUID, Choice, Items, RequestSerializer, Text, WholeNumber
from kit.db.card_number_fields import MISPLACED, REFUSAL
from kit.text.masking import has_card_number
from webhooks.models import USUAL_EVENTS, Event, event_of_name

LONGEST_NAME = 64
MOST_ACKNOWLEDGED = 100
LONGEST_WAIT = 10  # seconds


class ListenerName(Text):
    """The name of a listener, in the format of a reference. It is stored and shown, so it may hold no card number."""

    EXAMPLE = "ada-laptop"

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=LONGEST_NAME,
            pattern=rf"(?!\.\.?$)[A-Za-z0-9._:-]{{1,{LONGEST_NAME}}}",
            says=f"This field must have 1 to {LONGEST_NAME} characters of A-Z a-z 0-9 . _ : - and may not be . or ..",
            **options,
        )

    def to_internal_value(self, data: Any) -> str:
        name: str = super().to_internal_value(data)
        if has_card_number(name):
            self.refuse(REFUSAL, MISPLACED)
        return name


class EventKind(Choice):
    """The name of an event, read as the stored `Event`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(Event.labels, **options)

    def to_internal_value(self, data: Any) -> Event:
        return event_of_name(super().to_internal_value(data))


class ListenerSerializer(RequestSerializer):
    """The listener to begin."""

    name = ListenerName(help_text="Your name for it. The same name continues the same listener.")
    events = Items(
        EventKind(),
        minimum=1,
        maximum=len(Event),
        is_set=True,
        required=False,
        help_text=f"The kinds of events to copy. By default {', '.join(event.label for event in USUAL_EVENTS)}.",
        example=["payment.success", "payment.failed"],
    )


class PollSerializer(RequestSerializer):
    """What was received, and how long to wait. Has no required fields."""

    ack = Items(
        UUID(),
        maximum=MOST_ACKNOWLEDGED,
        required=False,
        help_text="`event_id` of each event that you received. Those are not returned again.",
        example=["5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11"],
    )
    wait = WholeNumber(
        minimum=0,
        maximum=LONGEST_WAIT,
        required=False,
        help_text=f"Seconds to wait for an event if there is none. By default {LONGEST_WAIT}.",
        example=10,
    )


class EndSerializer(RequestSerializer):
    """Has no fields: send an empty object or no body."""
