"""Fields of a bank's notification: strict where the value matters, lenient elsewhere.

Money that has arrived is never rejected because of an optional field. Such a field is truncated to its column,
and unknown members are stored as text in `extra_members`.
"""

import json
from collections.abc import Mapping
from typing import IO, Any, ClassVar

from rest_framework.exceptions import ValidationError
from rest_framework.fields import empty
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from kit import banks
from kit.api.fields.strict_fields import Amount, Currency, RequestSerializer, StrictField, Text
from kit.api.json.lenient_json import lenient_object
from kit.api.json.strict_json import MalformedJSON
from kit.text.display_names import printable_line
from kit.text.masking import mask_card_numbers

MEMBERS_KEPT = 20
NAME_KEPT = 40  # characters
VALUE_KEPT = 255

LARGEST_AMOUNT = 2**63 - 1  # minor units; the limit of the column


def one_line(value: Any, *, length: int = VALUE_KEPT) -> str:
    r"""Return any JSON value as one line of printable text, without card numbers, truncated to `length`.

    >>> one_line("  Ada\n Obi ", length=5), one_line(None), one_line({"a": 1})
    ('Ada O', '', '{"a": 1}')
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    # Masking is slow, so truncate first. It shortens a number and its separators by at most half.
    return mask_card_numbers(printable_line(text)[: 4 * length])[:length]


class LenientText(StrictField):
    """Optional text from a value of any type, on one line and truncated. Accepts every value."""

    def __init__(self, *, length: int = VALUE_KEPT) -> None:
        super().__init__(required=False)
        self.length = length

    def run_validation(self, data: Any = empty) -> str:
        return "" if data is empty else one_line(data, length=self.length)


class LenientBankCode(LenientText):
    """The code of a listed bank, or else the value as sent."""

    def run_validation(self, data: Any = empty) -> str:
        text = super().run_validation(data)
        bank = banks.find(text)
        return bank.code if bank else text


class BankReference(Text):
    """The bank's identifier of a transfer: the idempotency key of its notification."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=100,
            pattern=r"[!-~]{1,100}",
            says="This field must have 1 to 100 printable ASCII characters, without blanks.",
            **options,
        )


class NotificationSerializer(RequestSerializer):
    """A notification of the bank. Unknown members are stored as text in `extra_members`."""

    bank_reference = BankReference()
    amount = Amount(maximum=LARGEST_AMOUNT)
    currency = Currency()

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise ValidationError(self.error_messages["invalid"], code="invalid_type")
        values, errors = self._read_fields(data)
        if errors:
            raise ValidationError(errors)
        unknown = {name: value for name, value in data.items() if name not in self._known}
        return values | {"extra_members": _kept(unknown)}

    @classmethod
    def strict_names(cls) -> frozenset[str]:
        return frozenset(name for name, field in cls().fields.items() if field.required)


def _kept(members: Mapping[str, Any]) -> dict[str, str]:
    first = list(members.items())[:MEMBERS_KEPT]
    return {one_line(name, length=NAME_KEPT): one_line(value) for name, value in first}


class NotificationParser(BaseParser):
    """Parse a notification leniently. Invalid JSON is rejected only if no object can be read from it.

    A duplicate strict field is rejected, because choosing one of its values would be a guess.
    """

    media_type = "application/json"
    strict_names: ClassVar[frozenset[str]] = frozenset()

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        body: bytes = parser_context["request"].body if parser_context else stream.read()
        document = lenient_object(body)
        if document.repeated & self.strict_names:
            raise MalformedJSON("The body has a duplicate key.")
        return document


class AnyAccept(DefaultContentNegotiation):
    """Answer in JSON and ignore the `Accept` header, because the bank reads only the status."""

    def select_renderer(
        self,
        request: Request,
        renderers: Any,
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type
