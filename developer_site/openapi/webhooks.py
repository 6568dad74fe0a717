"""The webhooks that merchants receive, as OpenAPI 3.1 describes them: one request for each kind of event."""

import re
from typing import Any, TypeAlias

from kit.api.fields.answer_fields import Answer
from payments.examples import EVENT_DATA
from payments.representation import payments as shown
from payments.representation.disputes import DISPUTE
from payout_batches.representation import PAYOUT_BATCH
from virtual_accounts.representation import VIRTUAL_ACCOUNT
from webhooks import versions
from webhooks.models import Event, category_of
from webhooks.representation import WEBHOOK_EVENT

Schema: TypeAlias = dict[str, Any]

# For each event: its data, and when it is sent.
KINDS: dict[Event, tuple[Answer, str]] = {
    Event.PAYMENT_SUCCESS: (shown.PAYMENT, "A payment succeeded."),
    Event.PAYMENT_FAILED: (
        shown.PAYMENT,
        "A payment failed: declined, voided, cancelled, expired, or a wrong amount on a static account.",
    ),
    Event.PAYMENT_MISMATCH: (
        shown.PAYMENT,
        "A dynamic virtual account received a different amount than expected.",
    ),
    Event.PAYOUT_SUCCESS: (shown.PAYMENT, "A payout succeeded."),
    Event.PAYOUT_FAILED: (shown.PAYMENT, "A payout failed."),
    Event.REFUND_SUCCESS: (shown.REFUND, "A refund succeeded."),
    Event.REFUND_FAILED: (shown.REFUND, "A refund failed."),
    Event.PAYOUT_REVERSED: (shown.PAYMENT, "A bank returned a successful payout or part of it."),
    Event.TRANSFER_UNAPPLIED: (
        shown.UNAPPLIED_TRANSFER,
        "A transfer that matches no payment arrived.",
    ),
    Event.SETTLEMENT_RELEASED: (
        shown.SETTLEMENT,
        "The net of a settlement was credited to your balance.",
    ),
    Event.ACCOUNT_ACTIVE: (
        VIRTUAL_ACCOUNT,
        "A static virtual account that was created as `inactive` has its number.",
    ),
    Event.ACCOUNT_FAILED: (VIRTUAL_ACCOUNT, "The bank refuses to open a static virtual account."),
    Event.PAYOUT_BATCH_COMPLETED: (PAYOUT_BATCH, "Each payout of a batch is final."),
    Event.DISPUTE_OPENED: (DISPUTE, "A cardholder's bank disputes a payment."),
    Event.DISPUTE_UPDATED: (
        DISPUTE,
        "You submitted your answer to a dispute, its deadline changed, or part of it was given back later.",
    ),
    Event.DISPUTE_DUE_SOON: (DISPUTE, "Half, or three quarters, of the time to answer a dispute are over."),
    Event.DISPUTE_CLOSED: (DISPUTE, "A dispute ended."),
    Event.BALANCE_ADJUSTED: (
        shown.BALANCE_ADJUSTMENT,
        "Staff debited your balance, for example as a correction.",
    ),
}

# Headers, each with its meaning and an example.
_HEADERS = {
    "X-Service-Signature": (
        "Lower-case hex HMAC-SHA256 of the raw body, keyed with your signing key.",
        "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
    ),
    "X-Service-Idempotency-Key": (
        "The `event_id`, the same in every attempt.",
        WEBHOOK_EVENT["event_id"].example,
    ),
    "X-Service-Event": ("The event's name, as in the body.", Event.PAYMENT_SUCCESS.label),
    "X-Service-Attempt": ("1 for the first attempt.", "1"),
    "X-Service-Signature-Previous": (
        "The same with your old signing key, while a rotation of the key overlaps, else absent.",
        "48f5e275a180c20bf7fc0c8c561ae8f3451bcb9d28109f53dd456aa94ed42dda",
    ),
    "X-Service-Version": (
        "The version of the event's shape, at endpoints that were made by the API, else absent.",
        versions.FIRST,
    ),
    "X-Service-Test": ("`true` for test events, else absent.", "true"),
    "webhook-id": (
        "The delivery's id, at endpoints with `standard_webhooks`, else absent, as the two below.",
        WEBHOOK_EVENT["event_id"].example,
    ),
    "webhook-timestamp": ("When this attempt was made, in Unix seconds.", "1769846400"),
    "webhook-signature": (
        "`v1,` and the Base64 HMAC-SHA256 of `id.timestamp.body`. Two, newest first, while a rotation overlaps.",
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
}
_SOMETIMES = (
    "X-Service-Signature-Previous",
    "X-Service-Version",
    "X-Service-Test",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
)


def webhooks() -> Schema:
    """Return the `webhooks` section of the document."""
    return {event.label: {"post": _operation(event)} for event in Event}


def _operation(event: Event) -> Schema:
    _, when = KINDS[event]
    bodies = {
        name: example | {"value": WEBHOOK_EVENT.example(event=event.label, data=example["value"])}
        for name, example in EVENT_DATA[event].items()
    }
    return {
        "operationId": f"receive{_words(event)}",
        "tags": ["Webhooks"],
        "summary": when,
        "description": f"Sent to endpoints that are subscribed to `{category_of(event)}`.",
        "parameters": [
            {
                "in": "header",
                "name": name,
                "description": words,
                "required": name not in _SOMETIMES,
                "schema": {"type": "string", "maxLength": 255},
                "example": example,
            }
            for name, (words, example) in _HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": _reference(event), "examples": bodies},
            },
        },
        "responses": {
            "2XX": {"description": "Received."},
            "4XX": {"description": "Refused, as any other answer: the attempt failed."},
        },
        "security": [],
    }


def event_schemas() -> Schema:
    """Return the schema of each kind of event, and the union of all. They are open to new fields."""
    mapping = {event.label: _reference(event)["$ref"] for event in Event}
    only_here = {answer.name: answer.schema() for answer in (shown.BALANCE_ADJUSTMENT,)}
    return (
        only_here
        | {_name(event): _schema(event, data, when) for event, (data, when) in KINDS.items()}
        | {
            "WebhookEvent": {
                "description": WEBHOOK_EVENT.meaning,
                "oneOf": [_reference(event) for event in Event],
                "discriminator": {"propertyName": "event", "mapping": mapping},
            }
        }
    )


def _schema(event: Event, data: Answer, when: str) -> Schema:
    schema = WEBHOOK_EVENT.schema()
    properties = schema["properties"]
    properties["event"] |= {"enum": [event.label], "examples": [event.label]}
    properties["data"] = data.reference | {"description": properties["data"]["description"]}
    return schema | {"description": when}


def _name(event: Event) -> str:
    """Return the name of an event's schema, such as `PaymentSuccessEvent`."""
    return f"{_words(event)}Event"


def _words(event: Event) -> str:
    return "".join(part.capitalize() for part in re.split(r"[._]", event.label))


def _reference(event: Event) -> Schema:
    return {"$ref": f"#/components/schemas/{_name(event)}"}
