"""Our ids as Checkout.com has them: at most 30 characters are allowed for American Express, so base 32, not 16."""

import base64
import binascii
from uuid import UUID

LENGTH = 26  # characters of 128 bits


def reference_of(own_id: UUID) -> str:
    """Return an id as a reference of Checkout.com.

    >>> reference_of(UUID("0195b5c6-d7e8-7f9a-abbc-cddeeff00112"))
    'agk3lrwx5b7zvk54zxpo74abci'
    """
    return base64.b32encode(own_id.bytes).rstrip(b"=").decode().lower()


def id_of(reference: str) -> UUID | None:
    """Return the id that a reference was made of, or None if it isn't one of ours.

    >>> id_of("agk3lrwx5b7zvk54zxpo74abci"), id_of("order-1")
    (UUID('0195b5c6-d7e8-7f9a-abbc-cddeeff00112'), None)
    """
    if len(reference) != LENGTH or not reference.isascii():
        return None
    try:
        found = UUID(bytes=base64.b32decode(f"{reference.upper()}======"))
    except binascii.Error:
        return None
    return found if reference_of(found) == reference else None  # two bits of the last character are unused
