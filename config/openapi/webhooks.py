"""The webhooks that merchants receive, as OpenAPI 3.1 describes them: one request for each kind of event."""

from typing import Any, TypeAlias

from config.openapi.examples import PAYMENT, REFUND, RETURNED_PAYOUT, SETTLEMENT, UNAPPLIED, named
from kit.api.answer_fields import Answer
from payments import representation as shown
from webhooks.models import Event, category_of
from webhooks.representation import WEBHOOK_EVENT

Schema: TypeAlias = dict[str, Any]

# For each event: its data, an example of it, and when it is sent.
KINDS: dict[Event, tuple[Answer, Schema, str]] = {
    Event.PAYMENT_SUCCESS: (shown.PAYMENT, PAYMENT["card_payment"], "A payment succeeded."),
    Event.PAYMENT_FAILED: (
        shown.PAYMENT,
        PAYMENT["card_payment_that_is_declined"],
        "A payment failed: declined, voided, cancelled, expired, or a wrong amount on a static account.",
    ),
    Event.PAYMENT_MISMATCH: (
        shown.PAYMENT,
        PAYMENT["virtual_account_payment"],
        "A dynamic virtual account received a different amount than expected.",
    ),
    Event.PAYOUT_SUCCESS: (shown.PAYMENT, PAYMENT["payout"], "A payout succeeded."),
    Event.PAYOUT_FAILED: (shown.PAYMENT, PAYMENT["payout"], "A payout failed."),
    Event.REFUND_SUCCESS: (shown.REFUND, REFUND["a_part"], "A refund succeeded."),
    Event.REFUND_FAILED: (shown.REFUND, REFUND["a_part"], "A refund failed."),
    Event.PAYOUT_REVERSED: (
        shown.PAYMENT,
        RETURNED_PAYOUT["payout"],
        "A bank returned a successful payout or part of it.",
    ),
    Event.TRANSFER_UNAPPLIED: (
        shown.UNAPPLIED_TRANSFER,
        UNAPPLIED["open"],
        "A transfer that matches no payment arrived.",
    ),
    Event.SETTLEMENT_RELEASED: (
        shown.SETTLEMENT,
        SETTLEMENT["released"],
        "The net of a settlement was credited to your wallet.",
    ),
}

_HEADERS = {
    "X-Service-Signature": "Lower-case hex HMAC-SHA256 of the raw body, keyed with your signing key.",
    "X-Service-Idempotency-Key": "The `event_id`, the same in every attempt.",
    "X-Service-Event": "The event's name, as in the body.",
    "X-Service-Attempt": "1 for the first attempt.",
}
_TEST_HEADER = {"X-Service-Test": "`true` for test events, else absent."}


def webhooks() -> Schema:
    """Return the `webhooks` section of the document."""
    return {event.label: {"post": _operation(event)} for event in Event}


def _operation(event: Event) -> Schema:
    data, example, when = KINDS[event]
    body = {
        **WEBHOOK_EVENT.example(event=event.label, data=example["value"] | _status_of(event, data)),
    }
    return {
        "operationId": f"receive{''.join(part.capitalize() for part in event.label.split('.'))}",
        "tags": ["Webhooks"],
        "summary": when,
        "description": f"Sent to endpoints that are subscribed to `{category_of(event)}`.",
        "parameters": [
            _header(name, words, is_required=name in _HEADERS)
            for name, words in (_HEADERS | _TEST_HEADER).items()
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": _body(event, data), "examples": named(event=body)},
            },
        },
        "responses": {"2XX": {"description": "Received. Anything else is a failed attempt."}},
        "security": [],
    }


def _body(event: Event, data: Answer) -> Schema:
    narrowed = {
        "type": "object",
        "properties": {"event": {"const": event.label}, "data": data.reference},
    }
    return {"allOf": [WEBHOOK_EVENT.reference, narrowed]}


def _status_of(event: Event, data: Answer) -> Schema:
    """Return the status that the data of an event has, where its name says so."""
    if data not in (shown.PAYMENT, shown.REFUND) or event is Event.PAYOUT_REVERSED:
        return {}
    return {"status": "success" if event.label.endswith(".success") else "failed"}


def _header(name: str, words: str, *, is_required: bool) -> Schema:
    return {
        "in": "header",
        "name": name,
        "description": words,
        "required": is_required,
        "schema": {"type": "string"},
    }
