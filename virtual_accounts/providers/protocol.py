"""Interface of a hosting bank. The bank reports incoming money with signed notifications."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kit.connectors.capabilities import Capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberOrder:
    """An order of account numbers for consecutive serials from `first_serial`.

    Serials are used once, so a repeated order is for the same numbers. A bank that chooses its own numbers can use the
    serial as the reference of the order.
    """

    bank_code: str
    first_serial: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountCapabilities(Capabilities):
    """What a hosting bank can do at all. By default, a number accepts transfers for as long as the API allows."""

    shortest_session: int | None = None  # seconds
    longest_session: int | None = None

    def unsupported_session(self, currency: str, amount: int, seconds: int) -> dict[str, str]:
        """Return why the bank can't host a payment that expects a transfer, by field. Empty if it can."""
        found = self.unsupported(currency, amount)
        if self.shortest_session is not None and seconds < self.shortest_session:
            found["expiry_duration"] = (
                f"The shortest time for a transfer here is {self.shortest_session} seconds."
            )
        if self.longest_session is not None and seconds > self.longest_session:
            found["expiry_duration"] = (
                f"The longest time for a transfer here is {self.longest_session} seconds."
            )
        return found


class AccountProvider(Protocol):
    """A bank that hosts account numbers. It is never called within a database transaction.

    `close` and `reopen` return once the bank has confirmed, and otherwise raise after at most 9 seconds. They are
    retried until they return, in the order of the account's changes, and must be idempotent.
    """

    capabilities: AccountCapabilities

    def issue(self, order: NumberOrder) -> Sequence[str]:
        """Return new account numbers, which are valid, unused NUBANs."""

    def close(self, number: str) -> None:
        """Stop receiving money on a number. Transfers in progress may still arrive."""

    def reopen(self, number: str) -> None:
        """Receive money on a closed number again."""
