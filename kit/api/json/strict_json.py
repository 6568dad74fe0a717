"""Strict parsing of request bodies. Ambiguous JSON is refused."""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import IO, Any, NoReturn

from rest_framework import status
from rest_framework.parsers import BaseParser

from kit.api.errors import Problem
from kit.files.bounded_json import is_too_deep


class MalformedJSON(Problem):
    """The body is not one JSON object, or has a duplicate key."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "malformed_json"
    default_detail = "The body must be one JSON object."


def load_object(body: bytes) -> dict[str, Any]:
    """Parse one JSON object. Numbers with a fraction or exponent become exact Decimals.

    >>> load_object(b'{"amount": 1000.0}')
    {'amount': Decimal('1000.0')}

    :raises MalformedJSON: not UTF-8, not JSON, not an object, a duplicate key, NaN or Infinity, half a
        surrogate pair, or nested too deeply. The message never repeats the input.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise MalformedJSON("The body must be JSON in UTF-8.") from None
    if is_too_deep(text):
        raise MalformedJSON("The body is nested too deeply.")
    try:
        document = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise MalformedJSON(f"The body is not JSON: see line {error.lineno}, column {error.colno}.") from None
    except (ValueError, InvalidOperation):  # an integer, or an exponent, of too many digits
        raise MalformedJSON("The body holds a number that is too long.") from None
    if not isinstance(document, dict):
        raise MalformedJSON
    if "\\u" in text:
        _refuse_half_characters(document)
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedJSON("The body has a duplicate key.")
    return members


def _refuse_constant(_name: str) -> NoReturn:
    raise MalformedJSON("NaN and Infinity are not JSON.")


_DECODER = json.JSONDecoder(  # noqa: TID251  (depth was checked)
    object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=Decimal
)


def _refuse_half_characters(document: Any) -> None:
    try:
        json.dumps(document, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise MalformedJSON("The body holds half of a surrogate pair.") from None


class StrictJSONParser(BaseParser):
    """The API's only parser. Other media types get a 415 response."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        body: bytes = parser_context["request"].body if parser_context else stream.read()
        return load_object(body)
