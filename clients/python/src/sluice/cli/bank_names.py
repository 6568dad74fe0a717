"""Banks by the names that people write, by the same rules as the dashboard's page.

The words that are left out and the short names are those of `dashboard/payout_batches/bank_names.py` in the service.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from sluice._models import Bank

# Words that may be left out. Those that say what kind of institution it is must be in the bank's name if they are given.
FILLERS = frozenset(
    {
        "and",
        "bank",
        "digital",
        "for",
        "limited",
        "loans",
        "ltd",
        "nigeria",
        "of",
        "plc",
        "service",
        "services",
        "the",
    }
)
KINDS = frozenset({"merchant", "microfinance", "payment", "savings"})
# Names without the words above, and without spaces. Short forms that several banks share aren't here.
SHORT_NAMES = {
    "9psb": "120001",
    "alat": "035",
    "citi": "023",
    "diamond": "063",
    "eco": "050",
    "fbn": "011",
    "fcmb": "214",
    "firstbank": "011",
    "gt": "058",
    "gtb": "058",
    "gtbank": "058",
    "guaranty": "058",
    "hopepsb": "120002",
    "ibtc": "221",
    "rmb": "000024",
    "scb": "068",
    "stanbic": "221",
    "stanchart": "068",
    "titan": "102",
    "uba": "033",
    "unitedafrica": "033",
    "v": "566",
    "vbank": "566",
}
APOSTROPHES = re.compile("['`\u00b4\u2018\u2019\u2032]")


class BankNames:
    """The names of listed banks. A name that is not exactly one bank's has no code."""

    def __init__(self, banks: Iterable[Bank]) -> None:
        banks = list(banks)
        self._words = {bank.code: frozenset(_split(bank.name)) for bank in banks}
        plain = [(_plain(bank.name), bank.code) for bank in banks]
        times = Counter(name for name, _ in plain)
        short = {
            name: code for name, code in SHORT_NAMES.items() if code in self._words and name not in times
        }
        self._codes = short | {name: code for name, code in plain if name and times[name] == 1}

    def code_of(self, text: str) -> str | None:
        """Return the code of the bank with a name, or None if it isn't exactly one."""
        code = self._codes.get(_plain(text))
        is_of_kind = code is not None and KINDS.intersection(_split(text)) <= self._words[code]
        return code if is_of_kind else None


def _plain(name: str) -> str:
    """Return a name without the words that people leave out.

    >>> _plain("Guaranty Trust Bank Plc"), _plain("guaranty trust"), _plain("Kuda MFB")
    ('guarantytrust', 'guarantytrust', 'kuda')
    """
    return "".join(word for word in _split(name) if word not in FILLERS | KINDS)


def _split(name: str) -> list[str]:
    decomposed = unicodedata.normalize("NFKD", APOSTROPHES.sub("", name))
    letters = "".join(each for each in decomposed if not unicodedata.combining(each))
    words = re.findall(r"\w+", letters.casefold().replace("&", " and "))
    return ["microfinance" if word == "mfb" else word for word in words]
