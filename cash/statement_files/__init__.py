"""Files of statements as banks and providers write them, read into `Parsed` statements. Nothing here is stored."""

from collections.abc import Callable
from datetime import date
from importlib import import_module
from typing import BinaryIO, Protocol, cast

from cash.models import BankAccount, Statement
from cash.statement_files import camt053_files, csv_files, mt940_files
from cash.statement_files.parsed import LARGEST, InvalidAmount, InvalidFile, Parsed, ParsedLine, amount_of

__all__ = [
    "FORMATS",
    "LARGEST",
    "PROVIDERS",
    "InvalidAmount",
    "InvalidFile",
    "NotYet",
    "Parsed",
    "ParsedLine",
    "amount_of",
    "guess_format",
    "of_day",
    "provider",
    "provider_of",
    "read",
]

LOOKED_AT = 4_096  # bytes
# Those that report statements of our accounts there. By name: their app is above this one.
PROVIDERS = {"checkout": "connectors.checkout.statements", "paystack": "connectors.paystack.statements"}
FORMATS = {
    "csv": "CSV",
    "mt940": "MT940",
    "camt053": "CAMT.053",
    "paystack": "Settlement of Paystack",
    "checkout": "Payout of Checkout.com",
}
_READERS: dict[str, Callable[[BinaryIO, BankAccount], list[Parsed]]] = {
    Statement.Format.MT940: mt940_files.read,
    Statement.Format.CAMT053: camt053_files.read,
}


class NotYet(Exception):
    """The statement of a day isn't complete yet."""


class Provider(Protocol):
    """What the module of a provider has."""

    def read(self, file: BinaryIO, account: BankAccount) -> list[Parsed]:
        """Return the statements of a file.

        :raises InvalidFile: it can't be read
        """

    def fetch(self, account: BankAccount, day: date) -> bytes | None:
        """Return a day's statement as a file, or None if nothing happened on it.

        :raises NotYet: it isn't complete
        """


def provider(name: str) -> Provider:
    return cast("Provider", import_module(PROVIDERS[name]))


def provider_of(account: BankAccount) -> str:
    """Return the provider that reports the statements of an account, or ""."""
    name = account.connector_account.partition(":")[0]
    return name if name in PROVIDERS else ""


def of_day(account: BankAccount, day: date, lines: list[ParsedLine]) -> Parsed:
    """Return the statement of a day as a provider reports it. It has no balances, so it continues the one before."""
    opening = account.closing_before(day)
    return Parsed(
        place="the file",
        account="",
        currency=account.currency,
        first_day=day,
        last_day=day,
        opening=opening,
        closing=opening + sum(line.amount for line in lines),
        lines=lines,
    )


def guess_format(file: BinaryIO) -> str:
    """Return the format that the beginning of a file has, and go back to its start."""
    beginning = file.read(LOOKED_AT)
    file.seek(0)
    if beginning.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<"):
        return Statement.Format.CAMT053
    return Statement.Format.MT940 if b":20:" in beginning and b":25:" in beginning else Statement.Format.CSV


def read(
    file: BinaryIO, account: BankAccount, *, kind: str, opening: int | None, closing: int | None
) -> list[Parsed]:
    """Return the statements of a file. `opening` and `closing` are for a CSV file without balances.

    :raises InvalidFile: it can't be read
    """
    if kind in PROVIDERS:
        if account.is_at_bank:
            raise InvalidFile(
                f"{account.name} is a bank account. This statement is of our account at {kind}."
            )
        return provider(kind).read(file, account)
    if kind in _READERS:
        return _READERS[kind](file, account)
    return [csv_files.read(file, account, opening=opening, closing=closing)]
