"""ISO 8583 messages as bytes: packed, unpacked, and framed by two bytes of length.

Data are ASCII, bitmaps are binary. A frame is the message's length, two bytes, the high one first, and
the message.

>>> frame(Message("0800", {7: "1121090000", 11: "000001", 70: "301"}))[:22].hex(" ", 2)
'0027 3038 3030 8220 0000 0000 0000 0400 0000 0000 0000'
"""

import iso8583
from iso8583.specs import default as FIELDS  # noqa: N812  (a table)

from payments.rails.iso8583.messages import SECRET_FIELDS, Message

LENGTH_BYTES = 2
LONGEST = 4096  # bytes; a message of ours has some 300, and nobody has cause to send one that is longer


class Unpackable(Exception):
    """A field's value does not fit its format. Says which field, never the value."""


class Garbage(Exception):
    """These bytes are no message. Says where they stop being one, never what they are."""


def frame(message: Message) -> bytes:
    """Return a message as it is sent.

    :raises Unpackable: a value does not fit its field
    """
    try:
        packed, _ = iso8583.encode(
            {"t": message.type, **{str(number): value for number, value in message.fields.items()}}, FIELDS
        )
    except iso8583.EncodeError as problem:
        # "from None": the cause carries the whole message, the card's number included.
        raise Unpackable(f"field {problem.field} of a {message.type}") from None
    return len(packed).to_bytes(LENGTH_BYTES) + bytes(packed)


def unpack(received: bytes) -> Message:
    """Return the message that these bytes are.

    :raises Garbage: they are none
    """
    try:
        decoded, _ = iso8583.decode(received, FIELDS)
    except iso8583.DecodeError as problem:
        raise Garbage(f"field {problem.field} at byte {problem.pos} of {len(received)}") from None
    fields = {int(name): value for name, value in decoded.items() if name.isdecimal() and name != "1"}
    return Message(decoded["t"], fields)


def without_secrets(message: Message) -> Message:
    """Return the message without what we have no use for and must not keep."""
    return Message(
        message.type,
        {number: value for number, value in message.fields.items() if number not in SECRET_FIELDS},
    )
