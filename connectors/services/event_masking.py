"""What is kept of an event's body: no card number, nothing that identifies a payer, and no credential.

Objects about people are left out whole, because providers add members without notice. The payer and the beneficiary are
known from our own rows.
"""

import json
from collections.abc import Mapping
from typing import Any

from kit.text.masking import mask_card_numbers

HIDDEN = "hidden"
# Objects and lists, whose single members aren't known.
ABOUT_PEOPLE = frozenset(
    {
        "authorization", "billing", "billing_address", "customer", "history", "identification", "log", "messages",
        "metadata", "recipient", "sender", "shipping", "shipping_address", "source",
    }
)  # fmt: skip
NAMES = frozenset(
    {
        "account_name", "authorization_code", "bvn", "by", "customer_name", "email", "first_name", "ip_address", "last_name",
        "name", "note", "payment_ip", "phone", "sender_name", "signature", "token",
    }
)  # fmt: skip


def masked_body(document: Mapping[str, Any]) -> bytes:
    """Return an event's document as JSON, without what isn't kept. ASCII, so that every database takes it."""
    return json.dumps(_masked(document), default=str).encode()


def _masked(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping | list) and value and name in ABOUT_PEOPLE:
        return HIDDEN
    if isinstance(value, Mapping):
        return {mask_card_numbers(each): _masked(below, each) for each, below in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    if value is None or isinstance(value, bool):
        return value
    if name in NAMES:
        return HIDDEN
    text = str(value)
    masked = mask_card_numbers(text)
    return value if masked == text else masked
