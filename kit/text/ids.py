"""Ids in texts of people and other systems."""

from uuid import UUID


def read_id(text: str) -> UUID | None:
    """Return the UUID that a text is; None if it is something else.

    >>> read_id("01980a5e-9440-7c00-8000-000000000004"), read_id("order-1042")
    (UUID('01980a5e-9440-7c00-8000-000000000004'), None)
    """
    try:
        return UUID(text)
    except ValueError:
        return None
