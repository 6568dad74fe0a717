"""Colours that text is shown on."""

import re

from django.core.exceptions import ValidationError

HEXADECIMAL = r"^#[0-9a-f]{6}$"
LOWEST_CONTRAST = 4.5  # WCAG 2.2 AA, for text of normal size
WHITE = "#ffffff"
LINEAR_UP_TO = 0.04045  # of sRGB


def validate_ground(colour: str) -> None:
    """Validate a colour that white text is shown on."""
    if not re.match(HEXADECIMAL, colour):
        raise ValidationError("Enter # and six hexadecimal digits, such as #0b6e69.")
    if contrast(colour, WHITE) < LOWEST_CONTRAST:
        raise ValidationError("White text on this colour is hard to read. Choose a darker colour.")


def is_ground(colour: str) -> bool:
    """Return whether white text can be read on a colour.

    >>> is_ground("#0b6e69"), is_ground("#eeeeee"), is_ground("teal")
    (True, False, False)
    """
    try:
        validate_ground(colour)
    except ValidationError:
        return False
    return True


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, as WCAG defines it.

    >>> contrast("#000000", "#ffffff"), round(contrast("#767676", "#ffffff"), 2)
    (21.0, 4.54)
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[place : place + 2], 16) / 255) for place in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(value: float) -> float:
    return value / 12.92 if value <= LINEAR_UP_TO else ((value + 0.055) / 1.055) ** 2.4
