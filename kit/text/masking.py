"""Masking of card numbers in free text.

>>> mask_card_numbers("GET /api/payments/4084080000005408")
'GET /api/payments/408408******5408'
>>> mask_card_numbers("paid 4084 0800 0000 5408, order 1234567890123456")
'paid 408408******5408, order 1234567890123456'
>>> mask_card_numbers("card 4084084084084081 12 2030")
'card 408408******4081 12 2030'
>>> mask_card_numbers("card 4084.0800.0000.5408, total 4,084,080,000,005,408.00")
'card 408408******5408, total 4,084,080,000,005,408.00'

>>> mask_card_numbers("call +234 803 123 0007 about IMEI 356938035643809")
'call +234 803 123 0007 about IMEI 356938035643809'

Digits are a card number if a card scheme issues numbers with their prefix and length, and they pass the Luhn check.
They may be adjacent, or separated by single spaces or hyphens. Amounts, dates and times use other separators: with
those, the number must also be written in the groups that are printed on cards. Digits of every script count.
"""

import re
from urllib.parse import unquote

LENGTHS = range(12, 20)

# Characters that can't be seen, and which copying adds: ignored between any digits.
_INVISIBLE = r"\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
# Ignored singly between any groups.
_PLAIN_SEPARATOR = re.compile(rf"[{_INVISIBLE}]*+[ \u00a0-]?[{_INVISIBLE}]*+")
# Also ignored, up to three in a row, between the groups printed on cards: spaces of all widths, hyphens and dashes,
# dots, commas, slashes, underscores, URL encodings of a space, and invisible characters. Line breaks, colons and
# brackets are not, because they separate values in a table, a time or a document.
SEPARATOR = rf"[{_INVISIBLE} \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\-\u2010-\u2015\u2212.,/\\_+*\u00b7\u2022\u2219]"
# A UUID (RFC 9562) is never a card number, even if its digits pass the Luhn check.
_UUID = r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[1-8][0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}(?![0-9A-Fa-f])"
# Twelve digits or more, of which some may be a card number. The match never backtracks, so it takes linear time.
_RUN = re.compile(rf"(?P<uuid>{_UUID})|(?<!\d)\d(?:{SEPARATOR}{{0,3}}+\d){{11,}}+")
_GROUP = re.compile(r"(\d++)")

# Numbers that card schemes issue, by prefix and length (ISO/IEC 7812, the schemes' published ranges). Decision 0018
# lists them. They include every range of `payments.rules.cards.BRANDS`.
_ISSUED = re.compile(
    r"""4(?:\d{12}|\d{15}|\d{18})                                     # Visa
    | (?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}  # Mastercard
    | 3[47]\d{13}                                                     # American Express
    | 3(?:0[0-5]\d|095|[689]\d\d)\d{10,15}                            # Diners Club
    | 35(?:2[89]|[3-8]\d)\d{12,15}                                    # JCB
    | (?:1800|2131)\d{11}                                             # JCB, of 15 digits
    | 8[12]\d{14,17}                                                  # UnionPay, RuPay
    | (?:220[0-4])\d{12,15}                                           # Mir
    | (?:50|5[6-9]|6\d)\d{10,17}                                      # Discover, Maestro, RuPay, UnionPay, Verve
    """,
    re.VERBOSE,
)
_GROUP_LENGTH = 4  # digits in a printed group of most cards
_PRINTED_GROUPS = frozenset({(4, 6, 4), (4, 6, 5), (8, 8)})  # of the others
_VALUES = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(b"0123456789", bytes([0, 2, 4, 6, 8, 1, 3, 5, 7, 9]))  # of two digits, their sum


def passes_luhn(digits: str) -> bool:
    """Return whether the last digit is the Luhn check digit of those before it (ISO/IEC 7812-1).

    >>> passes_luhn("4084080000005408"), passes_luhn("4084080000005409")
    (True, False)
    """
    ascii_digits = digits.encode()
    others, doubled = ascii_digits[::-2].translate(_VALUES), ascii_digits[-2::-2].translate(_DOUBLED)
    return (sum(others) + sum(doubled)) % 10 == 0


def mask_card_numbers(text: str) -> str:
    """Mask every group of digits, or sequence of groups, that could be a card number."""
    if len(text) < LENGTHS[0]:  # the fast path: most texts end here
        return text
    return _RUN.sub(_mask_run, text)


def has_card_number(text: str) -> bool:
    """Return whether a text holds what could be a card number."""
    return mask_card_numbers(text) != text


def mask_target(target: str) -> str:
    """Mask the card numbers in a path and query, percent-encoded ones included.

    >>> mask_target("/api/payments?q=4084%200800%200000%205408"), mask_target("/api/payments/a%2Fb")
    ('/api/payments?q=408408******5408', '/api/payments/a%2Fb')
    """
    decoded = unquote(target)
    masked = mask_card_numbers(decoded)
    return mask_card_numbers(target) if masked == decoded else masked


def split_card_numbers(text: str) -> tuple[str, list[str]]:
    """Return a text with its card numbers masked, and the digits of those numbers.

    >>> split_card_numbers("paid 4084 0800 0000 5408")
    ('paid 408408******5408', ['4084080000005408'])
    """
    numbers: list[str] = []
    if len(text) < LENGTHS[0]:
        return text, numbers
    return _RUN.sub(lambda run: _mask_run(run, numbers), text), numbers


def _mask_run(run: re.Match[str], found: list[str] | None = None) -> str:
    if run["uuid"]:
        return run.group()
    _, *parts = _GROUP.split(run.group())
    groups, separators = parts[::2], parts[1::2]
    digits = [_ascii(group) for group in groups]
    shown = []
    place = 0
    while place < len(groups):
        window = slice(place, place + LENGTHS[-1])
        taken = _card_length(digits[window], separators[window])
        number = "".join(digits[place : place + taken])
        shown.append(masked_number(number) if taken else groups[place])
        if taken and found is not None:
            found.append(number)
        place += max(taken, 1)
        shown.append(separators[place - 1])
    return "".join(shown)


def _ascii(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(int(digit)) for digit in digits)


def _card_length(groups: list[str], separators: list[str]) -> int:
    """Return how many of the groups, from the first, form a card number; the largest number if several do."""
    longest = 0
    number = ""
    is_plain = True
    for count, group in enumerate(groups, start=1):
        number += group
        if len(number) > LENGTHS[-1]:
            break
        is_written = is_plain or _is_printed(groups[:count])
        if is_written and _ISSUED.fullmatch(number) and passes_luhn(number):
            longest = count
        is_plain = is_plain and _PLAIN_SEPARATOR.fullmatch(separators[count - 1]) is not None
    return longest


def _is_printed(groups: list[str]) -> bool:
    """Return whether the groups are those printed on cards, or single digits."""
    *lengths, last = map(len, groups)
    in_fours = all(length == _GROUP_LENGTH for length in lengths) and last <= _GROUP_LENGTH
    single = last == 1 and all(length == 1 for length in lengths)
    return in_fours or single or (*lengths, last) in _PRINTED_GROUPS


def masked_number(number: str) -> str:
    """Return the first six and last four digits of a card number."""
    return f"{number[:6]}{'*' * (len(number) - 10)}{number[-4:]}"
