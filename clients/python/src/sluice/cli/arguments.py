"""Arguments and input that several commands share."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Run: TypeAlias = Callable[[argparse.Namespace], int]
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  (argparse has no public name for it)


def add_command(commands: Subparsers, name: str, *, help: str, example: str, run: Run) -> Any:  # noqa: A002
    """Add a command with its help, an example and `--json`."""
    parser = commands.add_parser(name, help=help, description=help, epilog=f"Example: {example}")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)
    return parser


def add_caller(parser: Any) -> None:
    """Add the options that choose whose keys are used."""
    parser.add_argument(
        "--profile", help="the stored profile to use (default: the environment, or this folder's sandbox)"
    )
    parser.add_argument("--base-url", help="the service's address, instead of the profile's")


def read_bytes(source: str | None) -> bytes:
    """Return the bytes of a file, or of standard input for `-`; nothing for None.

    :raises SystemExit: the file can't be read
    """
    if source is None:
        return b""
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except OSError as problem:
        print(f"{source}: {problem.strerror}", file=sys.stderr)
        raise SystemExit(2) from problem
