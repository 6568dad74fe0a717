"""Formats of the four headers of a signed request, in the order of the checks, with hints for common mistakes.

No format allows a comma. The server joins repeated headers with a comma, so they are malformed.
"""

import re
from typing import NamedTuple

from kit.plurals import counted


class HeaderForm(NamedTuple):
    """The pattern of a header's value, and that pattern in words."""

    pattern: re.Pattern[str]
    rule: str


FORMS = {
    "X-Api-Key": HeaderForm(re.compile(r"(?!sk_)[A-Za-z0-9_]{1,64}\Z"), "the public id of a key pair (pk_…)"),
    "X-Timestamp": HeaderForm(re.compile(r"[0-9]{1,12}\Z"), "Unix seconds, 1 to 12 decimal digits"),
    "X-Nonce": HeaderForm(re.compile(r"[A-Za-z0-9_-]{16,128}\Z"), "16 to 128 characters of A-Z a-z 0-9 - _"),
    "X-Signature": HeaderForm(re.compile(r"[0-9A-Fa-f]{64}\Z"), "64 hexadecimal digits"),
}
HEADERS = {name: form.pattern for name, form in FORMS.items()}

NONCE_LENGTHS = range(16, 129)

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-|[A-Z][a-z]{2}, ")  # of RFC 3339, or of HTTP
# Common mistakes.
MISTAKES = (
    ("X-Api-Key", re.compile(r"sk_"), "yours is the secret key, which must not be sent"),
    ("X-Timestamp", re.compile(r"[0-9]{13}\Z"), "yours looks like milliseconds"),
    ("X-Timestamp", DATE, "yours looks like a date"),
    ("X-Signature", re.compile(r"[A-Za-z0-9+/_-]{43}=\Z"), "yours looks like Base64"),
)


def form_error(name: str, value: str) -> str:
    """Return the required format of a header and what the value looks like instead. Never repeats the value.

    >>> form_error("X-Nonce", "short")
    'X-Nonce must be 16 to 128 characters of A-Z a-z 0-9 - _; yours has 5 characters.'
    """
    found = _mistake(name, value)
    return f"{name} must be {FORMS[name].rule}{f'; {found}' if found else ''}."


def _mistake(name: str, value: str) -> str:
    """Return what a malformed value looks like, if it is a common mistake."""
    if "," in value and all(part.strip() for part in value.split(",")) and not DATE.match(value):
        return "it was sent more than once"
    if name == "X-Nonce" and len(value) not in NONCE_LENGTHS:
        return f"yours has {counted(len(value), 'character')}"
    return next((words for header, form, words in MISTAKES if header == name and form.match(value)), "")
