"""Build ISO 8583:1987 messages to an acquirer. `docs/rails.md` has tables of their fields.

The card number is only in the first message and isn't stored. Later messages identify the authorisation by field 90,
the original data elements, and by its retrieval reference number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from iso4217 import Currency

from payments.rails.protocol import CardOrder, OperationOrder
from payments.rules.cards import Card

# Fields that may hold a card number, a track, a PIN, chip data or a CVV. Never shown or stored.
SECRET_FIELDS = frozenset({2, 14, 34, 35, 36, 45, 48, 52, 55})
LARGEST_AMOUNT = 10**12 - 1  # field 4 has twelve digits

PURCHASE, RETURN = "000000", "200000"  # field 3
SIGN_ON, SIGN_OFF, ECHO = "001", "002", "301"  # field 70
KEY_ENTERED = "012"  # field 22: key-entered, without PIN entry
E_COMMERCE, CHECKS_THE_CARD = "59", "51"  # field 25
TIMED_OUT, CANCELLED = "68", "17"  # field 39 of a reversal: the reason
LOCAL_TIME = ZoneInfo("Africa/Lagos")  # fields 12 and 13


@dataclass(frozen=True, slots=True)
class Message:
    """A message's type and its fields. Its text masks fields that could hold a secret."""

    type: str
    fields: Mapping[int, str] = field(repr=False)

    def __str__(self) -> str:
        shown = (
            f"{number}={'***' if number in SECRET_FIELDS else value}"
            for number, value in sorted(self.fields.items())
        )
        return f"{self.type} {' '.join(shown)}"

    @property
    def is_answer(self) -> bool:
        return self.type[2:3] in {"1", "3"}

    @property
    def is_repeat(self) -> bool:
        return self.type[3:4] == "1"

    @property
    def response_code(self) -> str:
        return self.fields.get(39, "")

    @property
    def match_key(self) -> tuple[str, str, str]:
        """Return the values by which answers are matched to messages: class, STAN and RRN."""
        return self.type[1:2], self.fields.get(11, ""), self.fields.get(37, "")

    def answers(self, question: "Message") -> bool:
        """Return whether this answers a message: class, STAN and RRN match, and amount and terminal if given."""
        return (
            self.is_answer
            and self.match_key == question.match_key
            and all(self.fields.get(number) in {None, question.fields.get(number)} for number in (4, 41, 70))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptor:
    """The card acceptor: our own identifiers at the acquirer."""

    terminal_id: str  # field 41, at most 8 characters
    merchant_id: str  # field 42, at most 15 characters
    category_code: str  # field 18, four digits
    country: str  # field 19, numeric
    institution_id: str  # field 32, at most 11 digits
    place: str  # field 43: city and country, as in "LAGOS NG"


def authorisation(order: CardOrder, *, card: Card, acceptor: Acceptor) -> Message:
    """Return the first message of an order: 0200 for an immediate capture, 0100 to authorise or check the card."""
    is_check = order.amount == 0
    secrets = {
        2: card.secret.reveal_number(),
        14: card.expiry_year[2:] + card.expiry_month,
        48: f"92{len(card.secret.reveal_cvv()):02}{card.secret.reveal_cvv()}",
    }
    return Message(
        _first_type(order),
        {
            **_order_fields(order, acceptor),
            **secrets,
            3: PURCHASE,
            4: _amount(order.amount),
            22: KEY_ENTERED,
            25: CHECKS_THE_CARD if is_check else E_COMMERCE,
            43: _name_and_place(order.descriptor, acceptor),
        },
    )


def completion(
    order: CardOrder, operation: OperationOrder, *, acceptor: Acceptor, is_repeat: bool
) -> Message:
    """Return a capture: 0220, an advice, because the issuer has already approved it."""
    return Message(
        "0221" if is_repeat else "0220",
        {
            **_operation_fields(order, operation, acceptor),
            3: PURCHASE,
            4: _amount(operation.amount),
            **({38: order.authorization_code.ljust(6)} if order.authorization_code else {}),
        },
    )


def refund(order: CardOrder, operation: OperationOrder, *, acceptor: Acceptor, is_repeat: bool) -> Message:
    """Return a refund: 0200 with processing code 20."""
    return Message(
        "0201" if is_repeat else "0200",
        {**_operation_fields(order, operation, acceptor), 3: RETURN, 4: _amount(operation.amount)},
    )


def cancellation(
    order: CardOrder, operation: OperationOrder, *, acceptor: Acceptor, is_repeat: bool
) -> Message:
    """Return a void: the reversal of an approved authorisation."""
    return Message(
        "0401" if is_repeat else "0400",
        {
            **_operation_fields(order, operation, acceptor),
            3: PURCHASE,
            4: _amount(order.amount),
            39: CANCELLED,
        },
    )


def reversal(order: CardOrder, *, acceptor: Acceptor, is_repeat: bool) -> Message:
    """Return the reversal of an authorisation with an unknown outcome. It repeats the original's STAN and RRN."""
    return Message(
        "0401" if is_repeat else "0400",
        {
            **_order_fields(order, acceptor),
            3: PURCHASE,
            4: _amount(order.amount),
            39: TIMED_OUT,
            90: original_data_elements(order, acceptor),
        },
    )


def network_request(purpose: str, *, stan: str, now: datetime) -> Message:
    """Return a sign-on, sign-off or echo."""
    return Message("0800", {7: _transmission(now), 11: stan, 70: purpose})


def answer_to(question: Message, response_code: str, **more: str) -> Message:
    """Return the answer to a message. It repeats the message's fields, and `more` adds others as `f38="…"`."""
    repeated = {
        number: question.fields[number]
        for number in (3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49, 70)
        if number in question.fields
    }
    function = "3" if question.type[2] == "2" else "1"  # an advice is answered by 30, others by 10
    added = {int(name[1:]): value for name, value in more.items()}
    return Message(f"{question.type[:2]}{function}0", {**repeated, 39: response_code, **added})


def original_data_elements(order: CardOrder, acceptor: Acceptor) -> str:
    """Return field 90: the original's type, STAN, transmission time and institutions."""
    institutions = acceptor.institution_id.rjust(11, "0") + "0" * 11
    stan, sent_at = order.system_trace_audit_number, _transmission(order.created_at)
    return f"{_first_type(order)}{stan}{sent_at}{institutions}"


def _first_type(order: CardOrder) -> str:
    return "0200" if order.captures_at_once and order.amount > 0 else "0100"


def _order_fields(order: CardOrder, acceptor: Acceptor) -> dict[int, str]:
    return _shared_fields(
        acceptor,
        stan=order.system_trace_audit_number,
        rrn=order.retrieval_reference_number,
        currency=order.currency,
        at=order.created_at,
    )


def _operation_fields(order: CardOrder, operation: OperationOrder, acceptor: Acceptor) -> dict[int, str]:
    shared = _shared_fields(
        acceptor,
        stan=operation.system_trace_audit_number,
        rrn=operation.retrieval_reference_number,
        currency=order.currency,
        at=operation.created_at,
    )
    return {**shared, 90: original_data_elements(order, acceptor)}


def _shared_fields(acceptor: Acceptor, *, stan: str, rrn: str, currency: str, at: datetime) -> dict[int, str]:
    local = at.astimezone(LOCAL_TIME)
    return {
        7: _transmission(at),
        11: stan,
        12: f"{local:%H%M%S}",
        13: f"{local:%m%d}",
        18: acceptor.category_code,
        19: acceptor.country,
        32: acceptor.institution_id,
        37: rrn,
        41: acceptor.terminal_id.ljust(8),
        42: acceptor.merchant_id.ljust(15),
        49: f"{Currency(currency).number:03}",
    }


def _transmission(at: datetime) -> str:
    """Return field 7: month, day and time in UTC. A repeat has the original's time."""
    return f"{at.astimezone(UTC):%m%d%H%M%S}"


def _amount(minor_units: int) -> str:
    return f"{minor_units:012}"


def _name_and_place(name: str, acceptor: Acceptor) -> str:
    """Return field 43: 25 characters of name, 13 of city and two of country. Non-ASCII characters become `?`."""
    plain = name.encode("ascii", "replace").decode()
    printable = "".join(letter if letter.isprintable() else "?" for letter in plain)
    city, country = acceptor.place[:-2].strip(), acceptor.place[-2:]
    return f"{printable[:25]:25}{city[:13]:13}{country:2}"
