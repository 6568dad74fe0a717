"""Banks by the names that people write: without `Bank`, `MFB` or `Plc`, or by a well-known short name.

A name that is not exactly one bank's is asked about, never guessed.

>>> find_bank("Kuda MFB").name, find_bank("First Bank").name, find_bank("Stanbic").name, find_bank("000013").code
('Kuda Microfinance Bank', 'First Bank of Nigeria', 'Stanbic IBTC Bank', '058')
>>> find_bank("Trust Bank"), [bank.name for bank in similar_banks("Trust Bank")]
(None, ['Guaranty Trust Bank', 'Titan Trust Bank', 'Suntrust Bank'])
>>> [bank.name for bank in similar_banks("Moneypoint")], similar_banks("Bank of Nowhere")
(['Moniepoint Microfinance Bank'], [])
>>> find_bank("Access Microfinance Bank"), find_bank("FBN Merchant Bank"), find_bank("Citi Bank").code
(None, None, '023')
"""

import difflib
import re
from collections import Counter
from functools import cache

from kit import banks
from kit.text.folding import fold

MOST_SIMILAR = 3
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


def find_bank(text: str) -> banks.Bank | None:
    """Return the bank with a code or a name, or None if it isn't exactly one."""
    named = _by_name().get(_plain(text))
    if named is not None and not _words(text) & KINDS <= _words(named.name):
        named = None
    return banks.find(text) or named


def similar_banks(text: str) -> list[banks.Bank]:
    """Return a few banks that a name which is none's may mean: with all its words, or spelled alike."""
    telling = _words(text) - FILLERS - KINDS
    found = [bank for bank in banks.all_banks() if telling and telling <= _words(bank.name)]
    alike = difflib.get_close_matches(_plain(text), _by_name(), n=MOST_SIMILAR, cutoff=0.75)
    found += [_by_name()[name] for name in alike]
    return list(dict.fromkeys(found))[:MOST_SIMILAR]


def _plain(name: str) -> str:
    return "".join(word for word in _split(name) if word not in FILLERS | KINDS)


def _words(name: str) -> frozenset[str]:
    return frozenset(_split(name))


def _split(name: str) -> list[str]:
    words = re.findall(r"\w+", fold(name).replace("&", " and "))
    return ["microfinance" if word == "mfb" else word for word in words]


@cache
def _by_name() -> dict[str, banks.Bank]:
    plain = [(_plain(bank.name), bank) for bank in banks.all_banks()]
    times = Counter(name for name, _ in plain)
    found = {name: bank for name, bank in plain if name and times[name] == 1}
    for name, code in SHORT_NAMES.items():
        bank = banks.find(code)
        if bank is not None and name not in times:
            found[name] = bank
    return found
