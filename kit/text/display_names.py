r"""Names of people, businesses and keys: one line without characters that change how it is displayed.

>>> has_control_character("Ada Obi"), has_control_character("Ada\nObi"), has_control_character("Ada \u202eibO")
(False, True, True)
>>> one_line("  Ada\n\tObi ")
'Ada Obi'
>>> pasted("\u202a+234\u00a0803\u2011123\u202c\ufeff"), pasted("Ada\u200b Obi\u200e")
('+234 803-123', 'Ada Obi')
"""

import re

from django.core.exceptions import ValidationError

# Line ends, other control characters and overrides of the writing direction: refused.
CONTROL_CHARACTERS = r"\x00-\x1f\x7f-\x9f\u061c\u2028\u2029\u202d\u202e"
# Marks that programs add when text is copied: marks of the writing direction, and blanks of no width. Removed. Joiners
# stay, because some scripts need them.
INVISIBLE_MARKS = r"\u200b\u200e\u200f\u202a-\u202c\u2060\u2066-\u2069\ufeff"
_CONTROL_CHARACTER = re.compile(f"[{CONTROL_CHARACTERS}]")
_INVISIBLE_MARK = re.compile(f"[{INVISIBLE_MARKS}]")
_LOOK_ALIKES = str.maketrans(
    dict.fromkeys(
        "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
        " ",
    )
    | dict.fromkeys("\u2010\u2011", "-")
)

REFUSAL = "This field may not hold control characters."


def pasted(text: str) -> str:
    """Return what a person has entered, pasted or let a program fill in, without marks that can't be seen.

    Blanks and hyphens that look like the plain ones become plain.
    """
    return text if text.isascii() else _INVISIBLE_MARK.sub("", text).translate(_LOOK_ALIKES)


def has_control_character(text: str) -> bool:
    """Return whether a name has a character that changes how it is displayed."""
    return _CONTROL_CHARACTER.search(text) is not None


def one_line(text: str) -> str:
    """Return a name with control characters and white space replaced by single spaces."""
    return " ".join(_CONTROL_CHARACTER.sub(" ", pasted(text)).split())


def printable_line(text: str) -> str:
    r"""Return text from another system as one line of printable characters.

    >>> printable_line("  Ada\x00 \u202eObi\n")
    'Ada Obi'
    """
    printable = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    return " ".join(printable.split())


def identifier_text(value: object, *, length: int) -> str:
    r"""Return another system's identifier as text that can be stored, or "" if it is neither text nor a number.

    >>> identifier_text("a\x00b\ud800", length=64), identifier_text(42, length=1), identifier_text(["a"], length=64)
    ('a b', '4', '')
    """
    return printable_line(str(value)[: 4 * length])[:length] if isinstance(value, str | int) else ""


_SEPARATOR_OF_LINK = re.compile(
    r"[./:\\@\u2024\u2044\u2215\u3002\ufe52\ufe55\ufe6b\uff0e\uff0f\uff1a\uff20\uff3c\uff61]+(?=\S)"
)
_FORMAT_CHARACTER = re.compile(
    r"[\u00ad\u034f\u115f\u1160\u180e\u200b-\u200f\u2060-\u2064\u3164\ufeff\uffa0]"
)
_PLAIN_ADDRESS = re.compile(r"[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+\Z")
MAILED_LENGTH = 60


def mailed(name: str) -> str:
    """Return a name for an e-mail: one short line that mail programs don't turn into a link.

    Users choose these names, and could otherwise put text and links of their own into our mails.

    >>> mailed("Ada Books Ltd."), mailed("Visit https://evil.example/login now")
    ('Ada Books Ltd.', 'Visit https evil example login now')
    """
    return one_line(_SEPARATOR_OF_LINK.sub(" ", _FORMAT_CHARACTER.sub("", one_line(name))))[
        :MAILED_LENGTH
    ].strip()


def mailed_address(email: str) -> str:
    """Return an address for the text of an e-mail. One with unusual characters is treated as a name.

    >>> mailed_address("ada@example.com"), mailed_address('"see evil.example/x"@example.com')
    ('ada@example.com', '"see evil example x" example com')
    """
    return email if _PLAIN_ADDRESS.match(email) else mailed(email)


def validate_name(text: str) -> None:
    """Validate that a name has no control characters.

    :raises ValidationError: the name has one
    """
    if has_control_character(text):
        raise ValidationError(REFUSAL)
