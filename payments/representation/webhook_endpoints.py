"""Webhook endpoints in API responses, declared field by field."""

from collections.abc import Callable
from typing import Any

from kit.api.fields.answer_fields import FLAG, MOMENT, TEXT, URL, UUID, Answer, Field, Type, one_of, page_of
from webhooks import versions
from webhooks.endpoints.endpoint_changes import Configured
from webhooks.models import SUBSCRIPTIONS, Endpoint

_WORDS = Type(
    {
        "type": "array",
        "items": {"type": "string", "enum": list(SUBSCRIPTIONS)},
        "maxItems": len(SUBSCRIPTIONS),
    },
    list,
)

WEBHOOK_ENDPOINT = Answer(
    "WebhookEndpoint",
    "A URL that receives your events.",
    Field("id", UUID, "Our identifier.", "7a1f2b7e-0c5c-5d0a-9f5e-2d9b6b1d6c11", "public_id"),
    Field("url", URL, "Where events are sent.", "https://shop.example/hooks"),
    Field("subscribed_events", _WORDS, "Categories, and names of single events. An event is sent once, even if several match.", ["payment", "refund.success"]),
    Field("enabled", FLAG, "While `false`, events are held for up to 7 days.", True),
    Field("description", TEXT, "Your words for it; may be empty.", "Warehouse"),
    Field("standard_webhooks", FLAG, "Whether requests carry the headers of Standard Webhooks beside ours.", False),
    Field("api_version", one_of(versions.VERSIONS), "The version of the events' shape.", versions.NEWEST),
    Field("created_at", MOMENT, "When it was created.", "2026-01-31T08:00:00.000Z"),
)  # fmt: skip
WEBHOOK_ENDPOINTS_PAGE = page_of(WEBHOOK_ENDPOINT, "A page of endpoints, oldest first.", next_is="newer")
NEW_WEBHOOK_ENDPOINT = WEBHOOK_ENDPOINT.extended(
    "WebhookEndpointWithKey",
    "A webhook endpoint with its new signing key, which is never shown again.",
    Field("hash_key", TEXT, "The key with which your receiver verifies requests.", "whk_sandbox_Zk3W9sT1vXq8LrB6yNc0MdH5uJf2GaP7eQo4iRzVxKm"),
)  # fmt: skip

represent_endpoint: Callable[[Endpoint], dict[str, Any]] = WEBHOOK_ENDPOINT.represent


def represent_with_key(configured: Configured) -> dict[str, Any]:
    """Return an endpoint with its new signing key."""
    return NEW_WEBHOOK_ENDPOINT.represent(configured.endpoint)
