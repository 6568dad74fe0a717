"""Types of files that people upload: recognised by their content, never by their names, and never opened further.

SVG isn't one of them: it can hold scripts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PDF_START = re.compile(rb"%PDF-[12]\.[0-9]")
_PNG_START = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_JPEG_START = b"\xff\xd8"
_MARKER = re.compile(rb"\xff+([^\x00\xff])")
# Markers of a JPEG's frame, which has its size: the others of this range hold tables.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MOST_SEGMENTS = 1_000  # before the frame; cameras write a few


class UnknownFileType(Exception):
    """The content is neither a PDF, a PNG nor a JPEG, or the size of an image can't be read."""


@dataclass(frozen=True, slots=True)
class FileType:
    """A type, and what names of its files end with."""

    media_type: str
    ending: str


PDF = FileType("application/pdf", "pdf")
PNG = FileType("image/png", "png")
JPEG = FileType("image/jpeg", "jpg")


@dataclass(frozen=True, slots=True)
class FileKind:
    """What the header of a file says. `width` and `height` are pixels, and 0 of a document."""

    type: FileType
    width: int = 0
    height: int = 0


def kind_of(content: bytes) -> FileKind:
    r"""Read the type of a file, and the size of an image.

    >>> png = _PNG_START + (64).to_bytes(4) + (32).to_bytes(4)
    >>> jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc0\x00\x0b\x08\x00\x20\x00\x40\x03"
    >>> [(kind.type.media_type, kind.width, kind.height) for kind in map(kind_of, (png, jpeg, b"%PDF-1.7 "))]
    [('image/png', 64, 32), ('image/jpeg', 64, 32), ('application/pdf', 0, 0)]

    :raises UnknownFileType: it is neither a PDF, a PNG nor a JPEG
    """
    if _PDF_START.match(content):
        return FileKind(PDF)
    if content.startswith(_PNG_START) and len(content) >= len(_PNG_START) + 8:
        kind, width, height = PNG, *_numbers(content, len(_PNG_START), 4)
    elif content.startswith(_JPEG_START):
        kind, (height, width) = JPEG, _numbers(content, _frame_of(content) + 4, 2)
    else:
        raise UnknownFileType
    if not width or not height:
        raise UnknownFileType
    return FileKind(kind, width, height)


def _numbers(content: bytes, at: int, size: int) -> tuple[int, int]:
    return int.from_bytes(content[at : at + size]), int.from_bytes(content[at + size : at + 2 * size])


def _frame_of(content: bytes) -> int:
    """Return where the marker of a JPEG's frame ends, behind segments that say how long they are.

    :raises UnknownFileType: there is none
    """
    at = len(_JPEG_START)
    for _ in range(_MOST_SEGMENTS):
        marker = _MARKER.match(content, at)
        if marker is None or len(content) < marker.end() + 7:
            break
        at = marker.end() - 1
        if content[at] in _FRAMES:
            return at
        at += 1 + max(2, int.from_bytes(content[at + 1 : at + 3]))
    raise UnknownFileType
