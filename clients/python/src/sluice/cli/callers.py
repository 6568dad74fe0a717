"""Whose keys a command uses, and what must not be among its arguments."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable

from sluice import credentials
from sluice.cli.arguments import WrongUsage
from sluice.credentials import Credentials

LIVE = "pk_live_"
DIGITS = re.compile(r"(?<!\d)(?:\d[ -]?){12,19}(?!\d)")
# Prefixes and lengths that card schemes issue. Telephone numbers and IMEIs pass the Luhn check too.
ISSUED = re.compile(
    r"4(\d{12}|\d{15}|\d{18})|(2[2-7]|5[1-5])\d{14}|3[47]\d{13}|3(0[0-5]|[689]\d)\d{11,16}"
    r"|(35|8[12])\d{14,17}|(50|5[6-9]|6\d)\d{10,17}"
)


def caller_of(options: argparse.Namespace) -> Credentials:
    """Return the keys that the options choose, and say so if they are those of a sandbox elsewhere.

    :raises NoCredentials: there are none
    :raises WrongUsage: the keys are live and an argument is a card number
    """
    found = credentials.find(options.profile, options.base_url)
    if found.notice:
        print(found.notice, file=sys.stderr)
    if found.api_key.startswith(LIVE):
        _refuse_card_numbers(vars(options).values())
    return found


def _refuse_card_numbers(values: Iterable[object]) -> None:
    """Refuse card numbers in arguments: other programs can read them.

    :raises WrongUsage: a value holds one
    """
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    found = [each[0] for text in texts if isinstance(text, str) for each in DIGITS.finditer(text)]
    numbers = [re.sub("[ -]", "", each) for each in found]
    if any(ISSUED.fullmatch(each) and _passes_luhn(each) for each in numbers):
        raise WrongUsage("A card number must not be an argument: other programs on this machine can read it.")


def _passes_luhn(text: str) -> bool:
    """Return whether the last digit is the check digit of the others (ISO/IEC 7812-1).

    >>> _passes_luhn("4084084084084081"), _passes_luhn("4084084084084082")
    (True, False)
    """
    digits = [int(each) for each in text]
    doubled = [sum(divmod(2 * each, 10)) for each in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
