"""CSV as rows of cells. A quotation mark that isn't closed is an error: all rows after it would be part of its cell."""

import csv
from collections.abc import Iterable, Iterator
from itertools import chain

_END = "\x1eend of the file\x1e"


def rows(lines: Iterable[str], *, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of the line at which it ends.

    >>> list(rows(["a,b", "c,d"], separator=","))
    [(1, ['a', 'b']), (2, ['c', 'd'])]
    >>> list(rows(["a,'b", 'c,"d', "e,f"], separator=","))
    Traceback (most recent call last):
    _csv.Error: a quotation mark isn't closed

    :raises csv.Error: a quotation mark isn't closed, or a cell is too long
    """
    reader = csv.reader(chain(lines, [_END]), delimiter=separator)
    for cells in reader:
        if cells == [_END]:
            return
        if cells and cells[-1].endswith(_END):
            raise csv.Error("a quotation mark isn't closed")
        yield reader.line_num, cells
