"""Parsing of untrusted JSON with a limit on its depth. Its size is limited where it is received.

The parser recurses and raises RecursionError at a depth that depends on the caller. Indentation multiplies with
depth: 62 kB nested 900 levels deep become 100 MB of spaces.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

MAX_DEPTH = 32

# Brackets and quotes, and escaped characters within strings.
_TOKENS = re.compile(r'\\.|[\[\]{}"]', re.DOTALL)


class TooDeep(ValueError):
    """The document is nested deeper than `MAX_DEPTH`."""


def loads(text: str) -> Any:
    """Parse JSON of at most `MAX_DEPTH` levels.

    >>> loads('[{"a": "[[["}]')
    [{'a': '[[['}]

    :raises ValueError: the text is not JSON
    :raises TooDeep: the document is nested too deeply
    """
    if is_too_deep(text):
        raise TooDeep
    return json.loads(text)  # noqa: TID251  (the depth was checked)


def indented(text: str) -> str:
    r"""Return JSON indented for reading, or the text unchanged if it is not JSON or nested too deeply.

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
    """Return JSON with null in place of lists and objects nested deeper than `MAX_DEPTH`.

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
    """Return whether JSON is nested deeper than `MAX_DEPTH`. Takes linear time."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    return any(depth > MAX_DEPTH for _, depth in _brackets(text))


def _brackets(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each bracket of a list or object with its depth, counted from 1."""
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
    """A JSON form field. Django's field raises an exception on deep nesting and on very long numbers."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and is_too_deep(value):
            raise ValidationError("This JSON is nested too deeply.", code="too_deep")
        try:
            return super().to_python(value)
        except ValueError:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Show the submitted text unchanged if it cannot be parsed."""
        if isinstance(data, str) and is_too_deep(data):
            return InvalidJSONInput(data)
        try:
            return super().bound_data(data, initial)
        except ValueError:
            return InvalidJSONInput(data)
