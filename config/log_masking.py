"""Masking of card numbers in log lines: no value or traceback is written before it passes this processor."""

from collections.abc import MutableMapping
from typing import Any

from kit.masking import mask_card_numbers


def mask_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Mask card numbers in all values and tracebacks.

    The request id is left unchanged, because the middleware doesn't accept one with a card number.
    """
    for key, value in event.items():
        if key == "request_id":
            continue
        if isinstance(value, str):
            event[key] = mask_card_numbers(value)
        elif not isinstance(value, int | float | bool | None):
            event[key] = mask_card_numbers(str(value))
    return event
