r"""CSV that is safe to open in a spreadsheet.

A cell that begins with =, +, -, @ or a control character would be run as a formula; an apostrophe in front
of it keeps it text. Numbers are our own and stay numbers.

>>> line(["=1+1", "@SUM(A1)", "order-1", -500, None])
"'=1+1,'@SUM(A1),order-1,-500,\r\n"
"""

import csv
import io
from collections.abc import Iterable
from typing import TypeAlias

Cell: TypeAlias = str | int | None

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")


def line(cells: Iterable[Cell]) -> str:
    """Return one line of CSV (RFC 4180), with its line end."""
    written = io.StringIO()
    csv.writer(written).writerow([_safe(cell) for cell in cells])
    return written.getvalue()


def _safe(cell: Cell) -> Cell:
    if isinstance(cell, str) and cell.lstrip(" ").startswith(DANGEROUS):
        return f"'{cell}"
    return cell
