"""JSON of others, bounded in depth before it is parsed. Its size is bounded where it is received.

Parsing recurses, and fails with a RecursionError at a depth that depends on the caller. Indented JSON grows with its
depth: 62 kB that are nested 900 levels deep become 100 MB of blanks.
"""

import json
import re
from collections.abc import Iterator
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
    if is_too_deep(text):
        raise TooDeep
    return json.loads(text)  # noqa: TID251  (here is the bound)


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


def pruned(text: str) -> str:
    """Return JSON in which lists and objects that are nested deeper than `MAX_DEPTH` are null.

    >>> pruned('{"a": [1]}'), pruned("[" * 100 + "]" * 100) == "[" * 32 + "null" + "]" * 32
    ('{"a": [1]}', True)
    """
    if not is_too_deep(text):
        return text
    kept: list[str] = []
    start = 0
    for bracket, depth in _brackets(text):
        if depth == MAX_DEPTH + 1 and bracket.group() in "[{":
            kept += text[start : bracket.start()], "null"
            start = len(text)
        elif depth == MAX_DEPTH + 1:
            start = bracket.end()
    return "".join([*kept, text[start:]])


def is_too_deep(text: str) -> bool:
    """Return whether JSON is nested deeper than `MAX_DEPTH`. Time grows with its length."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    return any(depth > MAX_DEPTH for _, depth in _brackets(text))


def _brackets(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield what opens or closes a list or object, with the depth of that list or object, counted from 1."""
    depth, is_in_string = 0, False
    for token in _TOKENS.finditer(text):
        mark = token.group()
        if mark == '"':
            is_in_string = not is_in_string
        elif is_in_string:
            continue
        elif mark in "[{":
            depth += 1
            yield token, depth
        elif mark in "]}":
            yield token, depth
            depth -= 1


class BoundedJSONField(forms.JSONField):
    """A form's field of JSON. Django's fails with an exception on deep nesting and on numbers of too many digits."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and is_too_deep(value):
            raise ValidationError("This JSON is nested too deeply.", code="too_deep")
        try:
            return super().to_python(value)
        except ValueError:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Show what was sent as it is where it cannot be read."""
        if isinstance(data, str) and is_too_deep(data):
            return InvalidJSONInput(data)
        try:
            return super().bound_data(data, initial)
        except ValueError:
            return InvalidJSONInput(data)
