"""Interfaces of hosting banks: one whose numbers we take from a pool, or one that opens each account itself.

A provider is never called within a database transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from kit.connectors.capabilities import Capabilities


class Issues(StrEnum):
    """What a provider issues."""

    NUMBERS = "numbers"  # numbers for our pool, of a NumberProvider
    ACCOUNTS = "accounts"  # an account with each number, of an AccountOpener


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountCapabilities(Capabilities):
    """What a hosting bank can do at all. By default, a number accepts transfers for as long as the API allows."""

    # Seconds that a number of a dynamic account accepts a transfer.
    shortest_session: int | None = None
    longest_session: int | None = None

    def unsupported_session(self, seconds: int) -> str:
        """Return why a dynamic account can't expect a transfer for so long. Empty if it can."""
        if self.shortest_session is not None and seconds < self.shortest_session:
            return f"The shortest time for a transfer here is {self.shortest_session} seconds."
        if self.longest_session is not None and seconds > self.longest_session:
            return f"The longest time for a transfer here is {self.longest_session} seconds."
        return ""


class AccountProvider(Protocol):
    """A bank that hosts account numbers. It is a NumberProvider or an AccountOpener, as `issues` says."""

    capabilities: AccountCapabilities
    issues: Issues


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberOrder:
    """An order of account numbers for consecutive serials from `first_serial`.

    Serials are used once, so a repeated order is for the same numbers. A bank that chooses its own numbers can use the
    serial as the reference of the order.
    """

    bank_code: str
    first_serial: int
    count: int


class NumberProvider(AccountProvider, Protocol):
    """A bank that issues numbers in advance. It reports incoming money with signed notifications.

    `close` and `reopen` return once the bank has confirmed, and otherwise raise after at most 9 seconds. They are
    retried until they return, in the order of the account's changes, and must be idempotent.
    """

    def issue(self, order: NumberOrder) -> Sequence[str]:
        """Return new account numbers, which are valid, unused NUBANs."""

    def close(self, number: str) -> None:
        """Stop receiving money on a number. Transfers in progress may still arrive."""

    def reopen(self, number: str) -> None:
        """Receive money on a closed number again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountOrder:
    """A static account to be opened. `id` is ours, and the order's idempotency key."""

    id: UUID
    first_name: str
    last_name: str
    phone_number: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedAccount:
    """A static account that a provider has opened. `bank_code` is empty if we don't know the bank."""

    number: str
    bank_code: str
    bank_name: str


@dataclass(frozen=True, slots=True)
class Pending:
    """The provider hasn't opened the account yet, or didn't answer. It is asked again. `reason` is for staff."""

    reason: str
    is_answer: bool = True  # False: it didn't answer


@dataclass(frozen=True, slots=True)
class OpeningRefused:
    """The provider refuses the customer for good. `reason` is for staff."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOrder:
    """A number that is to accept one transfer, in minor units. `id` is that of our session."""

    id: UUID
    account_id: UUID
    amount: int
    currency: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession:
    """A number that accepts one transfer until the provider's own expiry."""

    number: str
    bank_code: str
    bank_name: str
    account_name: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTransfer:
    """What a provider says about a transfer: whether it has arrived, where, and from whom. Amount in minor units.

    It was sent to the number of a session, or to `account_number` of a static account. `opened_for` is our id of the
    account whose customer received it, if the provider knows it.
    """

    has_arrived: bool
    has_failed: bool = False  # neither: it may arrive still
    session_id: UUID | None = None
    account_number: str = ""
    opened_for: UUID | None = None
    bank_reference: str = ""
    amount: int = 0
    currency: str = ""
    sender_name: str = ""
    sender_account_number: str = ""  # as told; it may be masked
    sender_bank: str = ""
    narration: str = ""


class AccountOpener(AccountProvider, Protocol):
    """A provider that chooses the numbers itself, and is asked about each transfer that it notifies.

    Calls take at most 9 seconds. All but `open` may raise if there was no definite answer.
    """

    name: str  # beginning of `account`
    account: str  # our account there, such as `paystack:100032`: only it is asked about what it opened

    def is_available(self) -> bool:
        """Return whether it can be reached. If not, a request returns 503 and nothing is stored."""

    def open(self, order: AccountOrder) -> OpenedAccount | Pending | OpeningRefused:
        """Open a static account, or return the one that an equal order has opened."""

    def open_session(self, order: SessionOrder) -> OpenedSession:
        """Let a number accept one transfer. Without an answer, the number is never shown."""

    def find_transfer(self, subject: str) -> ProviderTransfer | None:
        """Return what became of a transfer: by our id of a session without hyphens, or by a reference of the provider.

        None if it isn't known, or isn't a transfer to an account of ours.
        """
