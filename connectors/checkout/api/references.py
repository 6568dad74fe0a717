"""Our references at Checkout.com: an id of ours as 26 characters, because American Express takes at most 30.

>>> reference_of(UUID(int=1)), id_of(reference_of(UUID(int=1))).int, id_of("order-17")
('AAAAAAAAAAAAAAAAAAAAAAAAAE', 1, None)
"""

import base64
from functools import lru_cache
from uuid import UUID

LENGTH = 26
_PADDING = "=" * 6  # base 32 has groups of eight characters


@lru_cache(maxsize=1024)  # an order asks for its own several times, and encoding is slow
def reference_of(identifier: UUID) -> str:
    """Return the reference of a transaction or operation of ours."""
    return base64.b32encode(identifier.bytes).decode().rstrip("=")


def id_of(reference: object) -> UUID | None:
    """Return the id that a reference stands for, or None if it isn't one of ours."""
    if not isinstance(reference, str) or len(reference) != LENGTH:
        return None
    try:
        found = UUID(bytes=base64.b32decode(reference + _PADDING))
    except ValueError:
        return None
    return found if reference_of(found) == reference else None
