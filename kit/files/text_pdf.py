r"""PDF files of plain text, for those who take no other documents. What the font doesn't have becomes a question mark.

>>> made = text_pdf(["Delivered (signed)", "₦1"])
>>> made[:8], b"Delivered \\(signed\\)" in made, made.count(b"/Type /Page ")
(b'%PDF-1.4', True, 1)
"""

import textwrap
from collections.abc import Iterable

COLUMNS, LINES = 95, 64  # of a page in A4
_PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents {} 0 R >>"
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>"
_FIRST_PAGE = 4  # the number of its object


def text_pdf(lines: Iterable[str]) -> bytes:
    """Return a PDF with lines of text. Long lines are wrapped."""
    wrapped = [part for line in lines for part in textwrap.wrap(line, COLUMNS) or [""]]
    pages = [wrapped[start : start + LINES] for start in range(0, len(wrapped), LINES)] or [[]]
    numbers = [_FIRST_PAGE + 2 * place for place in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        _FONT,
    ]
    for number, page in zip(numbers, pages, strict=True):
        content = _content(page)
        stream = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)
        objects += [_PAGE.format(number + 1).encode(), stream]
    return _file(objects)


def _content(page: Iterable[str]) -> bytes:
    shown = b"".join(b"(%s) Tj T*\n" % _text(line) for line in page)
    return b"BT /F 9 Tf 12 TL 40 800 Td\n" + shown + b"ET"


def _text(line: str) -> bytes:
    encoded = line.encode("cp1252", errors="replace")
    return encoded.replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")


def _file(objects: list[bytes]) -> bytes:
    """Return a file of objects, which are numbered from 1, with the table of their places."""
    made, places = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, start=1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(made)
