"""Masking of card numbers and credentials in log lines: nothing is written before it passes this processor."""

import re
from collections.abc import MutableMapping
from typing import Any

from kit.masking import mask_card_numbers

# Pages whose URL is a credential.
SECRET_PLACES = ("/3ds/", "/l/", "/checkout/", "/dashboard/invitation/", "/dashboard/login/new-password/")
_SECRET_PATH = re.compile(f"({'|'.join(SECRET_PLACES)}).+", re.DOTALL)


def without_credential(text: str) -> str:
    """Return a path, or a message that ends with one, with a placeholder for its credential.

    >>> without_credential("Service Unavailable: /checkout/yO1xN0/card"), without_credential("/api/banks")
    ('Service Unavailable: /checkout/…', '/api/banks')
    """
    return _SECRET_PATH.sub(lambda found: f"{found[1]}…", text)


def mask_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Mask card numbers in all values and tracebacks, and credentials in the paths that Django names.

    The request id is left unchanged, because the middleware doesn't accept one with a card number.
    """
    if event.get("logger") == "django.request":  # the path of a request that was answered with 5xx
        event["event"] = without_credential(str(event["event"]))
    for key, value in event.items():
        if key == "request_id":
            continue
        if isinstance(value, str):
            event[key] = mask_card_numbers(value)
        elif not isinstance(value, int | float | bool | None):
            event[key] = mask_card_numbers(str(value))
    return event
