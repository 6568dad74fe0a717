"""Results to standard output, progress to standard error."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from sluice.cli.streams import discard_output, safe, say
from sluice.model import Model

UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))  # seconds of each


def warn(text: str) -> None:
    """Print a warning, in red on a terminal that may show colours."""
    is_red = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    text = safe(text, sys.stderr)
    print(f"\033[31m{text}\033[0m" if is_red else text, file=sys.stderr, flush=True)


def emit(text: str) -> None:
    """Print lines in one write, so that Ctrl-C leaves no half line."""
    sys.stdout.write(safe(text, sys.stdout) + "\n")
    sys.stdout.flush()


def show(value: Any, options: argparse.Namespace, *, lines: Callable[[], Iterable[str]]) -> None:
    """Print a result: as one JSON document, or as lines for people.

    Output that can't be written changes no exit code: what the command did is done.
    """
    text = as_json(value, indent=2) if options.json else "\n".join(lines())
    try:
        emit(text)
    except OSError as problem:
        discard_output()
        if not isinstance(problem, BrokenPipeError):  # the reader, such as `head`, has enough
            say(f"Done, but the result could not be written: {problem.strerror}.")


def as_json(value: Any, *, indent: int | None = None) -> str:
    """Return JSON, escaped where the output's encoding has no other way to write a character."""
    is_unicode = sys.stdout.encoding.lower().startswith("utf")
    return json.dumps(plain(value), indent=indent, ensure_ascii=not is_unicode)


def plain(value: Any) -> Any:
    """Return a model as the JSON that it was read from, without what is absent."""
    if isinstance(value, Model):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        extra, _ = fields.pop("extra"), fields.pop("meta")
        return {name: plain(each) for name, each in fields.items() if each is not None} | dict(extra)
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def table(rows: Sequence[Sequence[object]], *, empty: str) -> list[str]:
    """Return rows as aligned lines, or the text for none."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    if not cells:
        return [empty]
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]  # noqa: B905


def fields(values: Mapping[str, object]) -> Iterator[str]:
    """Yield a line for each value that is not empty."""
    for name, value in values.items():
        if value:
            yield f"{name.replace('_', ' '):14}{value}"


def money(amount: int | None, currency: str | None) -> str:
    """Return an amount of minor units as people read it.

    >>> money(250_000, "NGN"), money(5, "JPY"), money(1_234, "KWD")
    ('NGN 2,500.00', 'JPY 5', 'KWD 1.234')
    """
    if amount is None:
        return ""
    places = DECIMALS.get(currency or "", 2)
    sign, digits = "-" if amount < 0 else "", str(abs(amount)).rjust(places + 1, "0")
    whole = f"{int(digits[: len(digits) - places]):,}"
    return f"{currency} {sign}{whole}" + (f".{digits[-places:]}" if places else "")


# Currencies without two decimals (ISO 4217).
DECIMALS = (
    dict.fromkeys(
        [
            "BIF",
            "CLP",
            "DJF",
            "GNF",
            "ISK",
            "JPY",
            "KMF",
            "KRW",
            "PYG",
            "RWF",
            "UGX",
            "UYI",
            "VND",
            "VUV",
            "XAF",
            "XOF",
            "XPF",
        ],
        0,
    )
    | dict.fromkeys(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"], 3)
    | {"CLF": 4, "UYW": 4}
)


def time_until(moment: str, *, now: datetime | None = None) -> str:
    """Return how long it is until a time of the API, in its two largest units. A time that is over is `now`.

    >>> time_until("2026-01-31T15:13:20Z", now=datetime(2026, 1, 31, 8, tzinfo=timezone.utc))
    'in 7 h 13 min'
    """
    due = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    return interval(max(round((due - (now or datetime.now(timezone.utc))).total_seconds()), 0))


def interval(seconds: int) -> str:
    """Return a number of seconds as an interval from now.

    >>> [interval(seconds) for seconds in (0, 28, 60, 130, 3600, 26_000, 86_400, 180_000)]
    ['now', 'in 28 s', 'in 1 min', 'in 2 min 10 s', 'in 1 h', 'in 7 h 13 min', 'in 1 d', 'in 2 d 2 h']
    """
    parts: list[tuple[int, str]] = []
    for size, unit in UNITS:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append((count, unit))
    words = [f"{count} {unit}" for count, unit in parts[:2] if count]
    return f"in {' '.join(words)}" if words else "now"
