"""JSON that a person pasted, or that a merchant or bank sent, read for showing it: bounded in depth before it is parsed.

Indented JSON grows with its depth: 62 kB that are nested 900 levels deep become 100 MB of blanks.
"""

import json
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

MAX_DEPTH = 32

# What opens or closes a level, or a string; in a string, an escaped character.
_TOKENS = re.compile(r'\\.|[\[\]{}"]', re.DOTALL)


class TooDeep(ValueError):
    """The document is nested deeper than `MAX_DEPTH`."""


def loads(text: str) -> Any:
    """Parse JSON of at most `MAX_DEPTH` levels.

    >>> loads('[{"a": "[[["}]')
    [{'a': '[[['}]

    :raises ValueError: it is not JSON
    :raises TooDeep: it is nested too deeply
    """
    if _is_too_deep(text):
        raise TooDeep
    return json.loads(text)


def indented(text: str) -> str:
    r"""Return JSON indented for reading; as it is where it is no JSON or nested too deeply.

    >>> indented('{"a":1}')
    '{\n  "a": 1\n}'
    >>> indented("[" * 100)[:3]
    '[[['
    """
    try:
        return json.dumps(loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _is_too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth, is_in_string = 0, False
    for token in _TOKENS.finditer(text):
        mark = token.group()
        if mark == '"':
            is_in_string = not is_in_string
        elif is_in_string:
            continue
        elif mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif mark in "]}":
            depth -= 1
    return False


class BoundedJSONField(forms.JSONField):
    """A form's field of JSON. Django's fails with a RecursionError on what is nested too deeply."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and _is_too_deep(value):
            raise ValidationError("This JSON is nested too deeply.", code="too_deep")
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Show what was sent as it is where it is nested too deeply."""
        if isinstance(data, str) and _is_too_deep(data):
            return InvalidJSONInput(data)
        return super().bound_data(data, initial)
