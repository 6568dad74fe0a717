"""The first sheet of an Excel file as rows of texts. Formulas count as their stored values; nothing is calculated.

An Excel file is a zip archive of XML. Python's parser refuses exploding entities, and the sizes here are bounded.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import IO
from xml.etree import ElementTree as ET

LARGEST_PART = 16 * 1024 * 1024  # bytes of a part, once it is unpacked
NAME = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
STRINGS, SHEET = "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"
_CELL = re.compile("([A-Z]{1,3})[0-9]+")


class NotASpreadsheet(ValueError):
    """The file isn't an Excel file, or its sheet is too large."""


def read_rows(file: IO[bytes], *, most_rows: int, most_columns: int) -> list[list[str]]:
    """Return the filled rows of the first sheet, at most one more than `most_rows`, without cells beyond `most_columns`.

    Rows that are only formatted are in the file too. They aren't counted, or they would hide rows below them.

    :raises NotASpreadsheet: it can't be read
    """
    try:
        with zipfile.ZipFile(file) as archive:
            strings = _strings(archive) if STRINGS in archive.namelist() else []
            rows: list[list[str]] = []
            for row in _part(archive, SHEET).iter(f"{NAME}row"):
                cells = list(_cells(row, strings, most_columns))
                if any(cell.strip() for cell in cells):
                    rows.append(cells)
                if len(rows) > most_rows:
                    break
            return rows
    except (
        zipfile.BadZipFile,
        ET.ParseError,
        KeyError,
        ValueError,
        IndexError,
        NotImplementedError,
    ) as error:
        raise NotASpreadsheet from error


def _part(archive: zipfile.ZipFile, name: str) -> ET.Element:
    if archive.getinfo(name).file_size > LARGEST_PART:
        raise NotASpreadsheet
    with archive.open(name) as part:
        return ET.fromstring(part.read(LARGEST_PART + 1))  # noqa: S314  (expat bounds entities)


def _strings(archive: zipfile.ZipFile) -> list[str]:
    return [_text(each) for each in _part(archive, STRINGS).iter(f"{NAME}si")]


def _text(element: ET.Element) -> str:
    return "".join(each.text or "" for each in element.iter(f"{NAME}t"))


def _cells(row: ET.Element, strings: list[str], most_columns: int) -> Iterator[str]:
    """Yield the texts of a row. Empty cells are left out of the file."""
    place = 0
    for cell in row.iter(f"{NAME}c"):
        at = _column(cell.get("r", "")) if cell.get("r") else place
        if at >= most_columns:
            return
        yield from [""] * (at - place)
        yield _value(cell, strings)
        place = at + 1


def _value(cell: ET.Element, strings: list[str]) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _text(cell)
    value = cell.findtext(f"{NAME}v", "")
    if kind == "s":
        return strings[int(value)]
    return value[:-2] if kind == "n" and value.endswith(".0") else value


def _column(name: str) -> int:
    """Return the place of a cell's column.

    >>> _column("A1"), _column("AB7")
    (0, 27)
    """
    match = _CELL.fullmatch(name)
    if match is None:
        raise NotASpreadsheet
    place = 0
    for letter in match[1]:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1
