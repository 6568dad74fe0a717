"""CSV exports, streamed and rate-limited per user."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from allauth.core.ratelimit import respond_429
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from kit.csv_cells import Cell, line
from merchants.rate_limits import may_export

TOGETHER = 200  # lines in one piece


def table(
    request: HttpRequest, *, name: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]
) -> HttpResponseBase:
    """Return a table as a CSV file, or 429 if the user exports too often."""
    return file(request, name=name, lines=(line(cells) for cells in chain([head], rows)))


def file(request: HttpRequest, *, name: str, lines: Iterable[str]) -> HttpResponseBase:
    """Return a file of CSV lines, or 429 if the user exports too often."""
    if not may_export(person=request.user.pk):
        refusal: HttpResponseBase = respond_429(request)
        return refusal
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
