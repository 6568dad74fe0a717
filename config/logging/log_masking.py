"""Masking of card numbers and credentials in log lines: nothing is written before it passes this processor."""

from collections.abc import MutableMapping
from typing import Any

from config.logging.secret_places import without_credential, without_credentials
from kit.terminal.terminal import escaped
from kit.text.masking import mask_card_numbers


def mask_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Mask card numbers and credentials of paths in all values and tracebacks.

    The request id is left unchanged, because the middleware doesn't accept one with a card number.
    """
    if str(event.get("logger", "")).startswith("django."):  # messages that end with the path of a request
        event["event"] = without_credential(str(event["event"]))
    for key, value in event.items():
        if key == "request_id":
            continue
        if isinstance(value, str):
            event[key] = _masked(value)
        elif not isinstance(value, int | float | bool | None):
            event[key] = _masked(str(value))
    return event


def escape_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters of all values, for lines that are shown on a terminal."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = escaped(value)
    return event


def _masked(text: str) -> str:
    return mask_card_numbers(without_credentials(text))
