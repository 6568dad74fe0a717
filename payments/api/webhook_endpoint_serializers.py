"""Requests about webhook endpoints."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings

from kit.api.fields.strict_fields import Choice, Flag, FreeText, Items, RequestSerializer, StrictField, Text
from webhooks import versions
from webhooks.endpoints.endpoint_changes import LONGEST_OVERLAP
from webhooks.models import DEFAULT_CATEGORIES, SUBSCRIPTIONS

URL_MEANING = "Receives the events: https, on port 443 or 8443, with a public host name."
EVENTS_MEANING = "Categories such as `payment`, and names of single events such as `refund.success`."
ENABLED_MEANING = "While `false`, events are held for up to 7 days, and sent once it is `true` again."
STANDARD_MEANING = "Whether requests carry the headers of Standard Webhooks beside ours."
VERSION_MEANING = "The version of the events' shape."
DESCRIPTION_MEANING = "Your words for it. Shown on pages only."


class Hours(StrictField):
    """Hours of an overlap: whole ones, in the sandbox also fractions."""

    LONGEST = LONGEST_OVERLAP // timedelta(hours=1)

    def to_internal_value(self, data: Any) -> timedelta:
        if isinstance(data, bool) or not isinstance(data, int | Decimal):
            self.refuse("This field must be a number.", "invalid_type")
        if not 0 <= data <= self.LONGEST:
            self.refuse(
                f"This field must be from 0 to {self.LONGEST}.", "too_small" if data < 0 else "too_large"
            )
        if data != int(data) and not settings.SANDBOX:
            self.refuse("This field must be a whole number. Only the sandbox takes fractions.")
        return timedelta(hours=float(data))

    def json_schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": 0, "maximum": self.LONGEST}


def _events(**options: Any) -> Items:
    return Items(
        Choice(SUBSCRIPTIONS),
        minimum=1,
        maximum=len(SUBSCRIPTIONS),
        is_set=True,
        example=["payment", "refund.success"],
        **options,
    )


class WebhookEndpointSerializer(RequestSerializer):
    """A new endpoint."""

    url = Text(max_length=2048, help_text=URL_MEANING, example="https://shop.example/hooks")
    subscribed_events = _events(
        required=False, help_text=f"{EVENTS_MEANING} By default {' and '.join(DEFAULT_CATEGORIES)}."
    )
    enabled = Flag(required=False, help_text=f"{ENABLED_MEANING} By default `true`.", example=True)
    description = FreeText(required=False, help_text=DESCRIPTION_MEANING, example="Warehouse")
    standard_webhooks = Flag(
        required=False, help_text=f"{STANDARD_MEANING} By default `false`.", example=False
    )
    api_version = Choice(
        versions.VERSIONS,
        required=False,
        help_text=f"{VERSION_MEANING} By default the newest.",
        example=versions.NEWEST,
    )


class WebhookEndpointChangeSerializer(RequestSerializer):
    """Changes of an endpoint."""

    url = Text(max_length=2048, required=False, help_text=URL_MEANING, example="https://shop.example/hooks")
    subscribed_events = _events(required=False, help_text=EVENTS_MEANING)
    enabled = Flag(required=False, help_text=ENABLED_MEANING, example=False)
    description = FreeText(
        required=False,
        allow_null=True,
        help_text=f"{DESCRIPTION_MEANING} `null` removes them.",
        example="Warehouse",
    )
    standard_webhooks = Flag(required=False, help_text=STANDARD_MEANING, example=True)
    api_version = Choice(
        versions.VERSIONS, required=False, help_text=VERSION_MEANING, example=versions.NEWEST
    )


class KeyRotationSerializer(RequestSerializer):
    """How a signing key is rotated. Has no required fields."""

    overlap_hours = Hours(
        required=False,
        help_text="Hours in which the old key signs beside the new one: 0, the default, to 72. In the sandbox also fractions.",
        example=24,
    )
