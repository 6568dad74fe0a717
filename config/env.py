"""Typed reading of the environment. A value that does not parse stops the start.

Every variable is described in `.env.example`; a test compares the two.
"""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from environ import Env

PROJECT = Path(__file__).resolve().parent.parent

# The process's own environment wins over the file.
Env.read_env(PROJECT / ".env", overwrite=False)


def text(name: str, *, default: str = "") -> str:
    """Return a variable, or the default where it is absent or empty."""
    return os.environ.get(name, "").strip() or default


def choice(name: str, options: tuple[str, ...], *, default: str) -> str:
    value = text(name, default=default)
    if value not in options:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(options)}, not {value!r}.")
    return value


def flag(name: str, *, default: bool) -> bool:
    return choice(name, ("True", "False"), default=str(default)) == "True"


def number(name: str, *, default: int, minimum: int = 0) -> int:
    return parsed_number(name, text(name, default=str(default)), minimum=minimum)


def parsed_number(name: str, value: str, *, minimum: int = 0) -> int:
    if not (value.isascii() and value.isdecimal()) or int(value) < minimum:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {minimum}, not {value!r}.")
    return int(value)


def words(name: str, *, default: tuple[str, ...] = ()) -> list[str]:
    """Return the comma-separated parts of a variable, without blanks."""
    parts = [part.strip() for part in text(name).split(",")]
    return [part for part in parts if part] or list(default)
