"""Exports of tables as CSV and Excel files, rate-limited per user, and one Excel file at a time in each process."""

import threading
from collections.abc import Iterable, Iterator
from enum import StrEnum
from tempfile import TemporaryFile
from typing import Any

from allauth.core.ratelimit import respond_429
from django.http import FileResponse, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from kit.files import xlsx_files
from kit.files.tables import Table, csv_lines
from merchants.api.rate_limits import may_export

BYTE_ORDER_MARK = "\ufeff"  # without it, spreadsheets misread letters outside ASCII
TOGETHER = 200  # lines in one piece
# Writing an Excel file keeps the interpreter busy. Several at once would delay payments that the process serves.
_writing = threading.Lock()


class AnotherExport(Exception):
    """The process is already writing an Excel file."""


class FileType(StrEnum):
    CSV = "csv"
    XLSX = "xlsx"


CONTENT_TYPES = {
    FileType.CSV: "text/csv; charset=utf-8",
    FileType.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def export(
    request: HttpRequest,
    table: Table[Any],
    *,
    name: str,
    file_type: FileType = FileType.CSV,
    guest: object = None,
) -> HttpResponseBase:
    """Return a table as a file, or 429 if the user exports too often. `guest`: what is counted without a user.

    A CSV file is streamed. An Excel file is complete before its first byte is sent.

    :raises TooManyRows: the table is too long for an Excel file
    :raises AnotherExport: see there
    """
    if not may_export(person=guest or request.user.pk):
        refusal: HttpResponseBase = respond_429(request)
        return refusal
    answer: HttpResponseBase
    if file_type is FileType.CSV:
        answer = StreamingHttpResponse(_pieces(csv_lines(table)), content_type=CONTENT_TYPES[file_type])
    else:
        answer = _excel_file(table)
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.{file_type}"'
    return answer


def _excel_file(table: Table[Any]) -> FileResponse:
    if not _writing.acquire(blocking=False):
        raise AnotherExport
    file = TemporaryFile()  # noqa: SIM115  (the response closes it)
    try:
        xlsx_files.write(table, file)
    except BaseException:
        file.close()
        raise
    finally:
        _writing.release()
    file.seek(0)
    return FileResponse(file, content_type=CONTENT_TYPES[FileType.XLSX])


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    piece = [BYTE_ORDER_MARK]
    for each in lines:
        piece.append(each)
        if len(piece) == TOGETHER:
            yield "".join(piece)
            piece = []
    yield "".join(piece)
