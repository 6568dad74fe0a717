"""Card numbers in free text, made harmless.

>>> mask_card_numbers("GET /api/payments/4084080000005408")
'GET /api/payments/408408******5408'
>>> mask_card_numbers("paid 4084 0800 0000 5408, order 1234567890123456")
'paid 408408******5408, order 1234567890123456'
"""

import re

# 12 to 19 digits, alone or in groups parted by one space or hyphen.
_CANDIDATE = re.compile(r"(?<![0-9])[0-9](?:[ -]?[0-9]){11,18}(?![0-9])")


def passes_luhn(digits: str) -> bool:
    """Tell whether the last digit is the Luhn check digit of those before it (ISO/IEC 7812-1).

    >>> passes_luhn("4084080000005408"), passes_luhn("4084080000005409")
    (True, False)
    """
    total = 0
    for position, character in enumerate(reversed(digits)):
        digit = ord(character) - 48
        if position % 2:
            digit *= 2
            if digit > 9:  # noqa: PLR2004  (two digits: their sum)
                digit -= 9
        total += digit
    return total % 10 == 0


def mask_card_numbers(text: str) -> str:
    """Replace every run of digits that could be a card number by its first six and last four."""
    return _CANDIDATE.sub(_masked, text)


def _masked(match: re.Match[str]) -> str:
    digits = re.sub(r"[ -]", "", match.group())
    if not passes_luhn(digits):
        return match.group()
    return f"{digits[:6]}{'*' * (len(digits) - 10)}{digits[-4:]}"
