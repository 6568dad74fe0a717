"""Card numbers in free text, made harmless.

>>> mask_card_numbers("GET /api/payments/4084080000005408")
'GET /api/payments/408408******5408'
>>> mask_card_numbers("paid 4084 0800 0000 5408, order 1234567890123456")
'paid 408408******5408, order 1234567890123456'
>>> mask_card_numbers("card 4084084084084081 12 2030")
'card 408408******4081 12 2030'
"""

import re

LENGTHS = range(12, 20)

# Twelve digits or more, alone or in groups parted by one space or hyphen: a card number may be some of them.
_SEPARATOR = re.compile(r"[ \u00a0-]")
# Nothing that was matched is given back: time grows with the length of the text and no faster.
_RUN = re.compile(r"(?<![0-9])[0-9](?:[ \u00a0-]?+[0-9]){11,}+")


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
    """Replace every group of digits, or groups in a row, that could be a card number by its ends."""
    return _RUN.sub(_mask_run, text)


def split_card_numbers(text: str) -> tuple[str, list[str]]:
    """Return a text with its card numbers masked, and the digits of those numbers.

    >>> split_card_numbers("paid 4084 0800 0000 5408")
    ('paid 408408******5408', ['4084080000005408'])
    """
    numbers: list[str] = []
    return _RUN.sub(lambda run: _mask_run(run, numbers), text), numbers


def _mask_run(run: re.Match[str], found: list[str] | None = None) -> str:
    groups = _SEPARATOR.split(run.group())
    separators = [*_SEPARATOR.findall(run.group()), ""]
    shown = []
    place = 0
    while place < len(groups):
        taken = _card_length(groups[place : place + LENGTHS[-1]])
        number = "".join(groups[place : place + taken])
        shown.append(_masked(number) if taken else groups[place])
        if taken and found is not None:
            found.append(number)
        place += max(taken, 1)
        shown.append(separators[place - 1])
    return "".join(shown)


def _card_length(groups: list[str]) -> int:
    """Return how many of the groups, from the first on, make up a card number; the most if several do."""
    longest = 0
    number = ""
    for count, group in enumerate(groups, start=1):
        number += group
        if len(number) > LENGTHS[-1]:
            break
        if len(number) in LENGTHS and passes_luhn(number):
            longest = count
    return longest


def _masked(number: str) -> str:
    return f"{number[:6]}{'*' * (len(number) - 10)}{number[-4:]}"
