"""Lenient parsing of the JSON that banks and providers send, because an event about money is never lost to its form.

Invalid UTF-8, control characters, NaN, lone surrogates and deep nesting affect only the text that contains them.
"""

import json
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any

from kit.api.json.strict_json import MalformedJSON
from kit.files.bounded_json import pruned

LONGEST_NUMBER = 40  # digits; a longer number is read as text


class LenientObject(dict[str, Any]):
    """A JSON object that records its duplicate members. The last value wins."""

    repeated: frozenset[str] = frozenset()


def lenient_object(body: bytes) -> LenientObject:
    """Return the object of a body, with null for what is nested too deeply.

    >>> lenient_object(b'{"a": [1, 2.50]}')
    {'a': [1, Decimal('2.50')]}

    :raises MalformedJSON: no object can be read from it
    """
    try:
        document = _DECODER.decode(pruned(body.decode("utf-8-sig", errors="replace")))
    except json.JSONDecodeError as error:
        raise MalformedJSON(
            f"The body is not valid JSON: line {error.lineno}, column {error.colno}."
        ) from None
    if not isinstance(document, LenientObject):
        raise MalformedJSON
    return document


def _object(pairs: list[tuple[str, Any]]) -> LenientObject:
    members = LenientObject(pairs)
    if len(members) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        members.repeated = frozenset(name for name, count in counts.items() if count > 1)
    return members


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONGEST_NUMBER else digits


def _decimal(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


_DECODER = json.JSONDecoder(  # noqa: TID251  (the text is pruned)
    object_pairs_hook=_object, parse_int=_whole, parse_float=_decimal, parse_constant=str, strict=False
)
