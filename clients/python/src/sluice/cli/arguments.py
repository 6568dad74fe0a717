"""Arguments and input that several commands share."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from sluice.errors import SluiceError

Run: TypeAlias = Callable[[argparse.Namespace], int]
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  (argparse has no public name for it)


class WrongUsage(SluiceError):
    """The arguments are wrong: ends with 2."""

    exit_code = 2


class Declined(SluiceError):
    """The person at the terminal said no, or could not be asked: ends with 1."""


def add_command(
    commands: Subparsers,
    name: str,
    *,
    help: str,  # noqa: A002  (argparse's own name)
    example: str,
    run: Run | None = None,
) -> argparse.ArgumentParser:
    """Add a command with its help and an example, and `--json` if it does something itself."""
    parser = commands.add_parser(name, help=help, description=help, epilog=f"Example: {example}")
    if run is not None:
        parser.add_argument(
            "--json",
            action="store_true",
            help="print JSON: one document, or one for each line of a command that goes on",
        )
        parser.set_defaults(run=run)
    return parser


def add_caller(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose whose keys are used."""
    parser.add_argument(
        "--profile", help="the stored profile to use (default: the environment, or this folder's sandbox)"
    )
    parser.add_argument("--base-url", help="the service's address, instead of the profile's")
    parser.add_argument("--yes", action="store_true", help="don't ask before a change with a live key")


def event_id(text: str) -> str:
    """Return the id of an event's delivery that an argument names.

    :raises ArgumentTypeError: it can't be one
    """
    try:
        return str(UUID(text))
    except ValueError:
        message = f"{text} is no id of an event; sluice events list shows them"
        raise argparse.ArgumentTypeError(message) from None


def minor_units(text: str) -> int:
    """Return an amount that an argument names.

    :raises ArgumentTypeError: it is no whole number
    """
    if text.isascii() and text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is no whole number of minor units; NGN 2,500.00 is 250000")


def read_bytes(source: str | None) -> bytes:
    """Return the bytes of a file, or of standard input for `-`; nothing for None.

    :raises WrongUsage: the file can't be read
    """
    if source is None:
        return b""
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except OSError as problem:
        raise WrongUsage(f"{source}: {problem.strerror}") from problem


def read_object(source: str) -> dict[str, Any]:
    """Return the JSON object in a file, or on standard input for `-`.

    :raises WrongUsage: the file can't be read, or is no JSON object
    """
    try:
        found = json.loads(read_bytes(source))
    except ValueError as problem:
        raise WrongUsage("The body is not JSON.") from problem
    if not isinstance(found, dict):
        raise WrongUsage("The body is not a JSON object.")
    return found
