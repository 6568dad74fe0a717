"""Check templates for forbidden constructs: part of `make lint`.

Templates can disable escaping, the content security policy and CSRF protection. This check reports such lines.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

# Problems and their patterns.
PATTERNS = {
    "output without escaping": re.compile(r"\|\s*safe(?:seq)?\b|\{%-?\s*autoescape\s+off"),
    "inline script or style, which the content security policy forbids": re.compile(
        r"""<script(?![^>]*\ssrc=)|<style\b|\sstyle\s*=|\son[a-z]+\s*=\s*["'{]|\shx-on[:-]|javascript:""",
        re.IGNORECASE,
    ),
    "an attribute with a variable and without quotation marks": re.compile(r"<[^<>]*\s[\w:-]+=\{[{%]"),
    "a link to a new window that can reach this one": re.compile(
        r"""<(?![^<>]*\srel=["'][^"'<>]*noopener)[^<>]*\starget=["']?_blank""", re.IGNORECASE
    ),
    "a form to another host": re.compile(r"""<form[^<>]*\saction=["']?(?:https?:)?//""", re.IGNORECASE),
}
COMMENT = re.compile(r"\{#.*?#\}|\{%\s*comment\b.*?%\}.*?\{%\s*endcomment\s*%\}|<!--.*?-->", re.DOTALL)
FORM = re.compile(r"<form\b[^<>]*\bmethod=[\"']?post\b.*?</form>", re.DOTALL | re.IGNORECASE)
TOKEN = re.compile(r"\{%\s*csrf_token\s*%\}")

# Forms without a CSRF token, and why they don't need one.
PAYER = "The payer has no session: the random token in the address is the protection."
WITHOUT_TOKEN = {
    "payments/_challenge_form.html": PAYER,
    "payments/checkout/card.html": PAYER,
    "payments/checkout/challenge.html": PAYER,
    "payments/checkout/choose_transfer.html": PAYER,
    "payments/checkout/end.html": PAYER,
    "payments/checkout/hosted.html": PAYER,
    "payments/checkout/transfer.html": PAYER,
    "payments/link.html": "The payer has no session: the browser says which site a form comes from.",
}


def complaints(folder: Path = settings.BASE_DIR / "templates") -> list[str]:
    """Return the problems in the templates of a folder, by file and line."""
    return [
        f"{file.relative_to(folder)}:{line}: {fault}"
        for file in sorted(folder.rglob("*.html"))
        for line, fault in _faults(
            file.read_text(), has_token=str(file.relative_to(folder)) not in WITHOUT_TOKEN
        )
    ]


def _faults(text: str, *, has_token: bool) -> Iterator[tuple[int, str]]:
    shown = COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment.group()), text)
    for fault, pattern in PATTERNS.items():
        for found in pattern.finditer(shown):
            yield _line(shown, found.start()), fault
    for form in FORM.finditer(shown):
        if has_token and not TOKEN.search(form.group()):
            yield _line(shown, form.start()), "a form that posts without {% csrf_token %}"


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
