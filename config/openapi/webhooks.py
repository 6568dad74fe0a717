"""The webhooks that merchants receive, as OpenAPI 3.1 describes them: one request for each kind of event."""

from typing import Any, TypeAlias

from config.openapi.answers import EVENT_ID
from config.openapi.examples import PAYMENT_ANSWERS, REFUND, SETTLEMENT, UNAPPLIED, named, returned_payout
from webhooks.models import Event, category_of

Schema: TypeAlias = dict[str, Any]

# For each event: the schema of its data, an example of it, and when it is sent.
KINDS: dict[Event, tuple[str, Schema, str]] = {
    Event.PAYMENT_SUCCESS: ("Payment", PAYMENT_ANSWERS["card_payment"], "A payment succeeded."),
    Event.PAYMENT_FAILED: (
        "Payment",
        PAYMENT_ANSWERS["card_payment_that_is_declined"],
        "A payment failed: declined, voided, cancelled, expired, or a wrong amount on a static account.",
    ),
    Event.PAYMENT_MISMATCH: (
        "Payment",
        PAYMENT_ANSWERS["virtual_account_payment"],
        "A dynamic virtual account received a different amount than expected.",
    ),
    Event.PAYOUT_SUCCESS: ("Payment", PAYMENT_ANSWERS["payout"], "A payout succeeded."),
    Event.PAYOUT_FAILED: ("Payment", PAYMENT_ANSWERS["payout"], "A payout failed."),
    Event.REFUND_SUCCESS: ("Refund", REFUND["a_part"], "A refund succeeded."),
    Event.REFUND_FAILED: ("Refund", REFUND["a_part"], "A refund failed."),
    Event.PAYOUT_REVERSED: (
        "Payment",
        returned_payout(),
        "A bank returned a successful payout or part of it.",
    ),
    Event.TRANSFER_UNAPPLIED: (
        "UnappliedTransfer",
        UNAPPLIED["open"],
        "A transfer that matches no payment arrived.",
    ),
    Event.SETTLEMENT_RELEASED: (
        "Settlement",
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
    schema, example, when = KINDS[event]
    body = {
        "id": EVENT_ID,
        "event_id": EVENT_ID,
        "event": event.label,
        "created_at": "2026-01-31T08:00:00.000Z",
        "data": example["value"] | _status_of(event, schema),
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
                "application/json": {"schema": _body(event, schema), "examples": named(event=body)},
            },
        },
        "responses": {"2XX": {"description": "Received. Anything else is a failed attempt."}},
        "security": [],
    }


def _body(event: Event, schema: str) -> Schema:
    narrowed = {
        "type": "object",
        "properties": {"event": {"const": event.label}, "data": {"$ref": f"#/components/schemas/{schema}"}},
    }
    return {"allOf": [{"$ref": "#/components/schemas/WebhookEvent"}, narrowed]}


def _status_of(event: Event, schema: str) -> Schema:
    """Return the status that the data of an event has, where its name says so."""
    if schema not in {"Payment", "Refund"} or event is Event.PAYOUT_REVERSED:
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
