"""The banks that can receive payouts, from `banks.csv`.

>>> find("058").name, find("000013").code
('Guaranty Trust Bank', '058')
"""

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ACCOUNT_NUMBER = re.compile(r"[0-9]{10}")
CODE = re.compile(r"[0-9]{3}|[0-9]{5,6}")  # three digits for a bank, five or six for another institution
FILE = Path(__file__).with_name("banks.csv")


@dataclass(frozen=True, slots=True)
class Bank:
    """A bank with its CBN and NIP codes. Requests may use either; responses contain `code`."""

    code: str
    nip_code: str
    name: str
    country: str = "NGA"
    currency: str = "NGN"


@lru_cache(maxsize=1)
def all_banks() -> tuple[Bank, ...]:
    """Return every bank, sorted by name."""
    with FILE.open(newline="", encoding="utf-8") as file:
        banks = [Bank(**row) for row in csv.DictReader(file)]
    return tuple(sorted(banks, key=lambda bank: bank.name.casefold()))


def currencies() -> frozenset[str]:
    """Return the currencies that payouts can be sent in."""
    return frozenset(bank.currency for bank in all_banks())


@lru_cache(maxsize=1)
def _by_code() -> dict[str, Bank]:
    by_nip_code = {bank.nip_code: bank for bank in all_banks()}
    return by_nip_code | {bank.code: bank for bank in all_banks()}


def find(code: str) -> Bank | None:
    return _by_code().get(code)


def groups(account_number: str) -> list[str]:
    """Return the groups in which people read an account number. Other text is one group.

    >>> groups("0072418836"), groups("A-1")
    (['0072', '418', '836'], ['A-1'])
    """
    number = account_number
    return [number[:4], number[4:7], number[7:]] if ACCOUNT_NUMBER.fullmatch(number) else [number]


def grouped(account_number: str) -> str:
    """Write an account number in groups.

    >>> grouped("0072418836")
    '0072 418 836'
    """
    return " ".join(groups(account_number))


def name_of(code: str) -> str:
    """Return the name of a listed bank, or an empty string."""
    bank = find(code)
    return bank.name if bank else ""
