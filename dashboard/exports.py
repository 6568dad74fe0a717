"""Tables for spreadsheets, sent while they are read."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from django.http import StreamingHttpResponse

from merchants.csv_text import Cell, line

TOGETHER = 200  # lines in one piece


def table(*, name: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> StreamingHttpResponse:
    """Answer with a CSV file of that name."""
    return file(name=name, lines=(line(cells) for cells in chain([head], rows)))


def file(*, name: str, lines: Iterable[str]) -> StreamingHttpResponse:
    """Answer with a file whose lines are CSV already."""
    answer = StreamingHttpResponse(_pieces(lines), content_type="text/csv; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    piece: list[str] = []
    for each in lines:
        piece.append(each)
        if len(piece) == TOGETHER:
            yield "".join(piece)
            piece = []
    yield "".join(piece)
