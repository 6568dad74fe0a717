r"""Names of people, businesses and keys: one line of text that is read as it is written.

>>> has_control_character("Ada Obi"), has_control_character("Ada\nObi"), has_control_character("Ada \u202eibO")
(False, True, True)
>>> one_line("  Ada\n\tObi ")
'Ada Obi'
"""

import re

from django.core.exceptions import ValidationError

# Line ends and other control characters, and marks that turn the direction of writing. Joiners stay, which some
# scripts need.
CONTROL_CHARACTERS = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CONTROL_CHARACTER = re.compile(f"[{CONTROL_CHARACTERS}]")

REFUSAL = "This field may not hold control characters."


def has_control_character(text: str) -> bool:
    """Return whether a name would not be read as it is written."""
    return _CONTROL_CHARACTER.search(text) is not None


def one_line(text: str) -> str:
    """Return a name with single blanks in place of control characters and other white space."""
    return " ".join(_CONTROL_CHARACTER.sub(" ", text).split())


def printable_line(text: str) -> str:
    r"""Return text that another system has sent as one line of printable characters.

    >>> printable_line("  Ada\x00 \u202eObi\n")
    'Ada Obi'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def validate_name(text: str) -> None:
    """Refuse control characters in the name that a form has.

    :raises ValidationError: the name holds one
    """
    if has_control_character(text):
        raise ValidationError(REFUSAL)
