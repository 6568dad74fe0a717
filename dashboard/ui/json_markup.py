"""Colours for JSON on pages: elements that `static/css/code.css` styles."""

import json
import re
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from kit.files import bounded_json

MAX_LENGTH = 64_000  # of the indented text; a longer one is shown without colours

_TOKEN = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*+")(?P<colon>:)?|(?P<number>-?\d[\d.eE+-]*+)|(?P<word>\b(?:true|false|null)\b)'
)
_CLASSES = {"text": "s", "number": "n", "word": "w"}


def json_markup(document: Any) -> SafeString:
    r"""Return a document as indented JSON with coloured parts. Parse JSON texts with `markup_of_text` instead.

    >>> json_markup({"paid": True})
    '{\n  <span class="k">&quot;paid&quot;</span>: <span class="w">true</span>\n}'
    """
    return _markup(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def markup_of_text(text: str) -> SafeString:
    """Return a JSON text indented and with coloured parts. Any other text is returned unchanged, as plain text.

    >>> markup_of_text("5"), markup_of_text("<b>5</b>")
    ('<span class="n">5</span>', '&lt;b&gt;5&lt;/b&gt;')
    """
    try:
        document = bounded_json.loads(text)
    except ValueError:
        return escape(text)
    return json_markup(document)


def indented(text: str) -> str:
    """Return a JSON text indented, without colours: for pages with much of it. Any other text is returned unchanged.

    >>> print(indented('{"paid":true}'))
    {
      "paid": true
    }
    """
    try:
        return json.dumps(bounded_json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _markup(text: str) -> SafeString:
    if len(text) > MAX_LENGTH:
        return escape(text)
    parts, end = [], 0
    for match in _TOKEN.finditer(text):
        parts += [escape(text[end : match.start()]), _element(match)]
        end = match.end()
    return mark_safe("".join([*parts, escape(text[end:])]))  # noqa: S308  (each part is escaped)


def _element(match: re.Match[str]) -> str:
    colon = match["colon"] or ""
    name = "k" if colon else _CLASSES[match.lastgroup or ""]
    return f'<span class="{name}">{escape(match[0].removesuffix(colon))}</span>{colon}'
