"""Phone numbers as people write them."""

from django.core.exceptions import ValidationError

LENGTHS = range(7, 16)  # digits: the longest international number has 15
_SEPARATORS = str.maketrans("", "", " -\u2012\u2013().")


def digits_of(text: str) -> str:
    """Return a number without separators, and with the plus sign of an international one.

    >>> digits_of("+234 (803) 123-4567")
    '+2348031234567'
    """
    return text.translate(_SEPARATORS)


def is_phone_number(text: str) -> bool:
    """Return whether a text is a phone number.

    >>> is_phone_number("0803 123 4567"), is_phone_number("12 34"), is_phone_number("call me")
    (True, False, False)
    """
    digits = digits_of(text).removeprefix("+")
    return digits.isascii() and digits.isdecimal() and len(digits) in LENGTHS


def validate_phone_number(text: str) -> None:
    """Validate a phone number.

    :raises ValidationError: it isn't one
    """
    if not is_phone_number(text):
        raise ValidationError("Enter a phone number with 7 to 15 digits, such as 0803 123 4567.")
