"""QR codes of payment links, as SVG and PNG.

Error correction of level M survives scratches of a print. The quiet zone and the white plate belong to the image, so
that it can be read on any ground, also on a dark page. A Micro QR code is never made, because phones don't read it.
"""

from __future__ import annotations

from io import BytesIO

import segno
from django.utils.safestring import SafeString, mark_safe

QUIET_ZONE = 4  # modules around the code
PIXELS = 24  # of a module in a PNG file: about 1,000 pixels in all
BLACK, WHITE = "#000", "#fff"


def inline_svg(text: str) -> SafeString:
    """Return the code as an SVG element without a size: its container decides. It has no inline style."""
    svg = _code(text).svg_inline(
        border=QUIET_ZONE, dark=BLACK, light=WHITE, omitsize=True, svgclass=None, lineclass=None
    )
    return mark_safe(svg)  # noqa: S308  (numbers and colours only)


def svg_file(text: str) -> bytes:
    return _file(text, kind="svg")


def png_file(text: str) -> bytes:
    return _file(text, kind="png")


def _file(text: str, *, kind: str) -> bytes:
    out = BytesIO()
    _code(text).save(out, kind=kind, scale=PIXELS, border=QUIET_ZONE, dark=BLACK, light=WHITE)
    return out.getvalue()


def _code(text: str) -> segno.QRCode:
    return segno.make(text, error="m", micro=False, boost_error=False)
