"""Encode and decode ISO 8583 messages, framed by a length prefix.

Data is ASCII and bitmaps are binary. A frame is a two-byte big-endian length followed by the message.

>>> frame(Message("0800", {7: "1121090000", 11: "000001", 70: "301"}))[:22].hex(" ", 2)
'0027 3038 3030 8220 0000 0000 0000 0400 0000 0000 0000'
"""

import iso8583
from iso8583.specs import default as FIELDS  # noqa: N812  (a table)

from payments.rails.iso8583.messages import SECRET_FIELDS, Message

LENGTH_BYTES = 2
LONGEST = 4096  # bytes; our messages have about 300


class UnencodableField(Exception):
    """A field's value doesn't match its format. Names the field, never the value."""


class InvalidFrame(Exception):
    """The bytes are not a valid message. Names the position, never the contents."""


def frame(message: Message) -> bytes:
    """Encode a message as a frame.

    :raises UnencodableField: a value doesn't match its field's format
    """
    try:
        packed, _ = iso8583.encode(
            {"t": message.type, **{str(number): value for number, value in message.fields.items()}}, FIELDS
        )
    except iso8583.EncodeError as problem:
        # "from None", because the cause contains the whole message with the card number.
        raise UnencodableField(f"field {problem.field} of a {message.type}") from None
    return len(packed).to_bytes(LENGTH_BYTES) + bytes(packed)


def unpack(received: bytes) -> Message:
    """Decode a message.

    :raises InvalidFrame: the bytes are not a valid message
    """
    try:
        decoded, _ = iso8583.decode(received, FIELDS)
    except iso8583.DecodeError as problem:
        raise InvalidFrame(f"field {problem.field} at byte {problem.pos} of {len(received)}") from None
    fields = {int(name): value for name, value in decoded.items() if name.isdecimal() and name != "1"}
    return Message(decoded["t"], fields)


def without_secrets(message: Message) -> Message:
    """Return the message without its secret fields."""
    return Message(
        message.type,
        {number: value for number, value in message.fields.items() if number not in SECRET_FIELDS},
    )
