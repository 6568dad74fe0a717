"""Formats of the four headers of a signed request, in the order of the checks, with hints for common mistakes.

No format allows a comma. The server joins repeated headers with a comma, so they are malformed.
"""

import re
from typing import NamedTuple


class HeaderForm(NamedTuple):
    """The pattern of a header's value, and its rule in words, after "must"."""

    pattern: re.Pattern[str]
    rule: str


FORMS = {
    "X-Api-Key": HeaderForm(
        re.compile(r"(?!sk_)[A-Za-z0-9_]{1,64}\Z"), "be the public id of a key pair (pk_…)"
    ),
    "X-Timestamp": HeaderForm(re.compile(r"[0-9]{1,12}\Z"), "be Unix seconds, 1 to 12 decimal digits"),
    "X-Nonce": HeaderForm(
        re.compile(r"[A-Za-z0-9_-]{16,128}\Z"), "have 16 to 128 characters of A-Z a-z 0-9 - _"
    ),
    "X-Signature": HeaderForm(re.compile(r"[0-9A-Fa-f]{64}\Z"), "be 64 hex digits"),
}
HEADERS = {name: form.pattern for name, form in FORMS.items()}

NONCE_LENGTHS = range(16, 129)

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-|[A-Z][a-z]{2}, ")  # of RFC 3339, or of HTTP
# Common mistakes.
MISTAKES = (
    ("X-Api-Key", re.compile(r"sk_"), "that is the secret key, which must never be sent"),
    ("X-Timestamp", re.compile(r"[0-9]{13}\Z"), "these look like milliseconds"),
    ("X-Timestamp", DATE, "send seconds, not a date"),
    ("X-Signature", re.compile(r"[A-Za-z0-9+/_-]{43}=\Z"), "this looks like Base64"),
)


def form_error(name: str, value: str) -> str:
    """Return the required format of a header and what the value looks like instead. Never repeats the value.

    >>> form_error("X-Nonce", "short")
    'X-Nonce must have 16 to 128 characters of A-Z a-z 0-9 - _; yours has 5.'
    """
    found = _mistake(name, value)
    return f"{name} must {FORMS[name].rule}{f'; {found}' if found else ''}."


def _mistake(name: str, value: str) -> str:
    """Return what a malformed value looks like, if it is a common mistake."""
    if "," in value and all(part.strip() for part in value.split(",")) and not DATE.match(value):
        return "it was sent more than once"
    if name == "X-Nonce" and len(value) not in NONCE_LENGTHS:
        return f"yours has {len(value)}"
    return next((words for header, form, words in MISTAKES if header == name and form.match(value)), "")
