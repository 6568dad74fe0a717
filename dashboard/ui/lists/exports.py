"""Exports of lists, as CSV or Excel files, with the filters of their list."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from django.contrib import messages
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import register_converter

from dashboard.ui.addresses import encoded
from dashboard.ui.lists.pagination import BY_ID, Order
from kit.db.rows.paged_reading import in_pages
from kit.files.tables import Table
from kit.files.xlsx_files import MOST_ROWS, TooManyRows
from merchants import exports
from merchants.exports import FileType

M = TypeVar("M", bound=Model)

TOGETHER = 1_000  # rows read at once


class FileTypeConverter:
    """The type of a file, at the end of a URL: `export.<file_type:file_type>`."""

    regex = "|".join(FileType)

    def to_python(self, value: str) -> FileType:
        return FileType(value)

    def to_url(self, value: str) -> str:
        return value


register_converter(FileTypeConverter, "file_type")


def export(
    request: HttpRequest, table: Table[Any], *, name: str, file_type: FileType, page: str
) -> HttpResponseBase:
    """Return a table as a file. If that is impossible as an Excel file, redirect to its page with a message."""
    try:
        return exports.export(request, table, name=name, file_type=file_type)
    except TooManyRows:
        text = f"An Excel file can have up to {MOST_ROWS:,} rows. Narrow the filters, or export CSV."
    except exports.AnotherExport:
        text = "Another Excel file is being written. Try again in a minute, or export CSV."
    messages.error(request, text)
    return back_to_list(request, page)


def back_to_list(request: HttpRequest, page: str) -> HttpResponse:
    """Redirect to a list with the same query. It shows the errors of its filter."""
    return redirect(f"{page}?{encoded(request.GET)}")


def rows_of(sources: Sequence[QuerySet[M]], *, order: Order = BY_ID) -> Iterator[M]:
    """Yield the rows in any of the sources, newest first and each once, without holding them in memory."""
    readers = [_reader(source, order) for source in sources]
    last: M | None = None
    for row in heapq.merge(*readers, key=order.position, reverse=True):
        if last is None or row.pk != last.pk:
            yield row
        last = row


def _reader(source: QuerySet[M], order: Order) -> Iterator[M]:
    """Yield the rows of a source, newest first."""

    def beyond(row: M) -> Q:
        return order.beyond(order.position(row), is_older=True)

    return in_pages(source.order_by(*order.ordering(is_older=True)), beyond, size=TOGETHER)


def in_chunks(rows: Iterator[M], *, size: int = TOGETHER) -> Iterator[list[M]]:
    """Yield the rows in lists, to look up what belongs to them with one query for each list."""
    chunk: list[M] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
