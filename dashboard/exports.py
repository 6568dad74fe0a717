"""Tables for spreadsheets, sent row by row while they are read.

A cell that a spreadsheet would take for a formula begins with an apostrophe instead:

>>> [harmless(text) for text in ("=1+1", "+234", "@SUM(1)", "-5", "Ada", 12)]
["'=1+1", "'+234", "'@SUM(1)", "'-5", 'Ada', '12']
"""

import csv
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import StreamingHttpResponse

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
TOGETHER = 200  # rows in one piece


class Line:
    """What the csv module writes into; it hands every line on."""

    def write(self, line: str) -> str:
        return line


def harmless(value: Any) -> str:
    """Return a cell's text: no formula, and nothing in it that turns the text around it."""
    text = "" if value is None else str(value)
    text = "".join(character for character in text if unicodedata.category(character) not in {"Cf", "Cc"})
    return f"'{text}" if text.startswith(FORMULAS) or str(value).startswith(FORMULAS) else text


def table(*, name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Answer with a CSV file of that name."""
    answer = StreamingHttpResponse(_pieces(head, rows), content_type="text/csv; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _pieces(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    writer = csv.writer(Line())
    piece = [writer.writerow(head)]
    for row in rows:
        piece.append(writer.writerow([harmless(value) for value in row]))
        if len(piece) == TOGETHER:
            yield "".join(piece)
            piece = []
    yield "".join(piece)
