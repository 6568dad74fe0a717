"""Typed environment variables. A wrong value stops the start with exit status 2 and one line that names it.

`.env.example` describes every variable; a test compares the two. After a wrong value, the default is used for
the moment, so that all wrong values are reported together.
"""

import os
import sys
from collections.abc import Callable, Collection
from ipaddress import ip_network
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured
from environ import Env

Read = TypeVar("Read")

PROJECT = Path(__file__).resolve().parents[2]

# The process's environment takes precedence over the file.
Env.read_env(PROJECT / ".env", overwrite=False)

TRUE, FALSE = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off"})

_wrong: list[str] = []


class InvalidPart(ValueError):
    """A part of a value is wrong. The message completes "The value is invalid: …" and repeats no secret."""


def refuse(message: str) -> None:
    """Record that a setting is wrong. The message names it and never repeats a secret."""
    if message not in _wrong:
        _wrong.append(message)


def stop_if_invalid(name: str = "") -> None:
    """End the process with status 2 if any setting is wrong, with one line on standard error for each.

    With a name, only if that setting is wrong.

    :raises SystemExit: a setting is wrong
    """
    if any(message.startswith(name) for message in _wrong):
        print(*(f"{message} See .env.example." for message in _wrong), sep="\n", file=sys.stderr)  # noqa: T201
        raise SystemExit(2)


def text(name: str, *, default: str = "") -> str:
    """Return a variable, or the default if it is absent or empty."""
    return os.environ.get(name, "").strip() or default


def choice(name: str, options: tuple[str, ...], *, default: str) -> str:
    value = text(name, default=default)
    if value in options:
        return value
    refuse(f"{name} must be one of {', '.join(options)}, not {value!r}.")
    return default


def choices(name: str, options: Collection[str]) -> list[str]:
    """Return comma-separated words, each of which is one of the options."""
    given = words(name)
    if unknown := [word for word in given if word not in options]:
        refuse(f"{name} may have {', '.join(options)}, not {', '.join(map(repr, unknown))}.")
    return given


def flag(name: str, *, default: bool) -> bool:
    """Return a boolean in any common spelling."""
    value = text(name, default=str(default)).lower()
    if value in TRUE | FALSE:
        return value in TRUE
    refuse(f"{name} must be true or false (also 1 or 0, yes or no, on or off), not {value!r}.")
    return default


def number(name: str, *, default: int, minimum: int = 0, maximum: int | None = None) -> int:
    value = parsed_number(name, text(name, default=str(default)), minimum=minimum)
    if value is not None and (maximum is None or value <= maximum):
        return value
    if value is not None:
        refuse(f"{name} must be a whole number of at most {maximum}, not '{value}'.")
    return default


def numbers(name: str, *, default: tuple[int, ...]) -> list[int]:
    """Return comma-separated whole numbers."""
    parsed = [parsed_number(name, word) for word in words(name)]
    return [value for value in parsed if value is not None] or list(default)


def parsed_number(name: str, value: str, *, minimum: int = 0) -> int | None:
    """Return a whole number, or None if the value is wrong, which is recorded."""
    if value.isascii() and value.isdecimal() and len(value) <= MAX_DIGITS and int(value) >= minimum:
        return int(value)
    refuse(f"{name} must be a whole number of at least {minimum}, not {value!r}.")
    return None


MAX_DIGITS = 18  # a 64-bit integer holds them all


def words(name: str, *, default: tuple[str, ...] = ()) -> list[str]:
    """Return the comma-separated parts of a variable, without blanks."""
    parts = [part.strip() for part in text(name).split(",")]
    return [part for part in parts if part] or list(default)


def url(name: str, *, read: Callable[[str], Read], example: str, default: str = "") -> Read | None:
    """Return a URL as `read` understands it, or None if it is empty or wrong.

    The message shows an example instead of the value, which may hold a password. `read` raises ValueError,
    KeyError or ImproperlyConfigured, or InvalidPart if it can say more.
    """
    value = text(name, default=default)
    try:
        return read(value) if value else None
    except InvalidPart as wrong:
        refuse(f"{name} is invalid: {wrong}.")
        return None
    except (ValueError, KeyError, ImproperlyConfigured):
        refuse(f"{name} must look like {example}.")
        return None


def networks(name: str, *, default: tuple[str, ...]) -> list[str]:
    """Return comma-separated networks. `none` is the empty list."""
    if text(name).lower() == "none":
        return []
    return _each(name, words(name, default=default), read=ip_network, example="10.0.0.0/8")


def currencies(name: str, *, read: Callable[[str], object], default: tuple[str, ...]) -> list[str]:
    """Return comma-separated currencies. `read` raises ValueError for a code that isn't one."""
    return _each(name, words(name, default=default), read=read, example="NGN")


def amounts(name: str, *, read: Callable[[str], object], default: dict[str, int]) -> dict[str, int]:
    """Return minor units by currency, from `NGN:10000,USD:100`. `read` raises ValueError for an unknown currency."""
    given: dict[str, int] = {}
    for word in words(name):
        code, _, value = word.partition(":")
        try:
            read(code)
        except ValueError:
            refuse(f"{name} must hold values such as NGN:10000, separated by commas, not {word!r}.")
            continue
        amount = parsed_number(name, value, minimum=1)
        if amount is not None:
            given[code] = amount
    return given or default


def _each(name: str, given: list[str], *, read: Callable[[str], object], example: str) -> list[str]:
    for word in given:
        try:
            read(word)
        except ValueError:
            refuse(f"{name} must hold values such as {example}, separated by commas, not {word!r}.")
    return given
