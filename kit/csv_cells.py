r"""CSV that is safe to open in a spreadsheet.

A cell that begins with =, +, -, @, a full-width form of them or a control character would be run as a formula; an
apostrophe in front of it keeps it text. Blanks and invisible characters before the sign make no difference. The same
holds after a separator within a cell: a spreadsheet may split at semicolons, tabs or line ends instead of our commas.
Numbers are our own and stay numbers.

>>> line(["=1+1", "@SUM(A1)", "order-1", -500, None])
"'=1+1,'@SUM(A1),order-1,-500,\r\n"
>>> line(["a;=1+1", "a; b", "10-20"])
"a;'=1+1,a; b,10-20\r\n"
>>> [line([hidden + "=1"]).startswith("'") for hidden in ("\u00a0", "\u200b", "\ufff9", "\U000e0001", "\U000e0100")]
[True, True, True, True, True]
"""

import csv
import io
import re
from collections.abc import Iterable
from typing import TypeAlias

Cell: TypeAlias = str | int | None

_SIGN = r"=+\-@\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20"  # with small and full-width forms
# Characters that spreadsheets trim or hide: white space, format characters, fillers, quotation marks.
_SKIPPED = r"\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\""
_AT_BEGINNING = re.compile(rf"[{_SKIPPED}]*[{_SIGN}]|[\x00-\x1f\x7f-\x9f]")
_AFTER_SEPARATOR = re.compile(rf"([,;|\t\r\n\v\f\u2028\u2029\uff0c\uff1b][{_SKIPPED}]*)(?=[{_SIGN}])")


def line(cells: Iterable[Cell]) -> str:
    """Return one line of CSV (RFC 4180), with its line end."""
    written = io.StringIO()
    csv.writer(written).writerow([_safe(cell) for cell in cells])
    return written.getvalue()


def _safe(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    text = _AFTER_SEPARATOR.sub(r"\1'", cell)
    return f"'{text}" if _AT_BEGINNING.match(text) else text
