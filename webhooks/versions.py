"""Versions of the shape of events' data. An endpoint keeps the version that was the newest when it was made.

A change of the shape adds a version, and a function that makes the version before of it.
"""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError

Data = dict[str, Any]

FIRST = "2026-11-01"
# By version, oldest first: what makes its data of the data of the next one. The newest needs nothing.
DOWNGRADES: dict[str, Callable[[Data], Data] | None] = {FIRST: None}
VERSIONS = tuple(DOWNGRADES)
NEWEST = VERSIONS[-1]


def in_version(version: str, data: Data) -> Data:
    """Return data of the newest version in the shape of another one."""
    for downgrade in reversed(list(DOWNGRADES.values())[list(DOWNGRADES).index(version) :]):
        data = downgrade(data) if downgrade else data
    return data


def validate(version: str) -> None:
    """Check that a version exists.

    :raises ValidationError: it doesn't
    """
    if version not in DOWNGRADES:
        raise ValidationError(f"There is no version {version}.")
