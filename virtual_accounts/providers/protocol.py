"""Interface of a hosting bank. The bank reports incoming money with signed notifications."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberOrder:
    """An order of account numbers for consecutive serials from `first_serial`.

    Serials are used once, so a repeated order is for the same numbers. A bank that chooses its own numbers can use the
    serial as the reference of the order.
    """

    bank_code: str
    first_serial: int
    count: int


class AccountProvider(Protocol):
    """A bank that hosts account numbers. It is never called within a database transaction.

    `close` and `reopen` return once the bank has confirmed, and otherwise raise after at most 9 seconds. They are
    retried until they return, in the order of the account's changes, and must be idempotent.
    """

    def issue(self, order: NumberOrder) -> Sequence[str]:
        """Return new account numbers, which are valid, unused NUBANs."""

    def close(self, number: str) -> None:
        """Stop receiving money on a number. Transfers in progress may still arrive."""

    def reopen(self, number: str) -> None:
        """Receive money on a closed number again."""
