"""Results to standard output, progress to standard error."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sluice.model import Model


def say(text: str) -> None:
    """Print progress, which is no result."""
    print(text, file=sys.stderr, flush=True)


def red(text: str) -> str:
    """Return a warning in red, if it goes to a terminal that may show colours."""
    return f"\033[31m{text}\033[0m" if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else text


def emit(text: str) -> None:
    """Print lines in one write, so that Ctrl-C leaves no half line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show(value: Any, options: argparse.Namespace, *, lines: Callable[[], Iterable[str]]) -> None:
    """Print a result: as one JSON document, or as lines for people."""
    if options.json:
        emit(json.dumps(plain(value), indent=2, ensure_ascii=False))
    else:
        emit("\n".join(lines()))


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
DECIMALS = dict.fromkeys(
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
) | dict.fromkeys(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"], 3)
