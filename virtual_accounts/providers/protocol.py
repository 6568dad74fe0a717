"""What a hosting bank does for us. Money that arrives is told by signed notifications."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberOrder:
    """So many account numbers, for the serials from `first_serial` on.

    The serials are ours and given out once: an order told twice is for the same numbers. A bank that
    chooses numbers itself may use them as the order's own reference.
    """

    bank_code: str
    first_serial: int
    count: int


class AccountProvider(Protocol):
    """A bank at which account numbers are held. Its calls are made outside every database transaction.

    `close` and `reopen` return when the bank has confirmed, and raise where it has not, after 9 seconds at most. They
    are repeated until they return, in the order of the account's changes, so each must be safe to repeat.
    """

    def issue(self, order: NumberOrder) -> Sequence[str]:
        """Return new account numbers: valid NUBANs, held by nobody."""

    def close(self, number: str) -> None:
        """Refuse money for a number from now on. What is on its way may still arrive."""

    def reopen(self, number: str) -> None:
        """Take money for a closed number again."""
