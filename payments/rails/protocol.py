"""Protocols of the rails. A connector implements one of the two, and settings name it.

A rail is called outside any database transaction, after a row with our own reference was committed. Without a
definite answer it raises `AnswerLost`: the transaction stays pending and is queried later.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from kit.connectors.capabilities import Capabilities
from payments.rules.cards import Card
from payments.rules.outcomes import Outcome


class AnswerLost(Exception):
    """The rail gave no definite answer. It may or may not have acted."""


class CannotTell(Exception):
    """The acquirer has no query for authorisations. Reverse the authorisation instead."""


class ThreeDSecureSupport(StrEnum):
    """Whether an acquirer authenticates payers with 3-D Secure."""

    ON_REQUEST = "on_request"
    NEVER = "never"
    PROVIDER_DECIDES = "provider_decides"  # it can't be requested


@dataclass(frozen=True, slots=True, kw_only=True)
class CardCapabilities(Capabilities):
    """What an acquirer can do at all. Checked before a transaction is stored."""

    three_d_secure: ThreeDSecureSupport
    captures_later: bool = True
    voids: bool = True
    partial_refunds: bool = True
    checks_cards: bool = True
    hosted_only: bool = False  # the payer enters the card on the provider's own page


@dataclass(frozen=True, slots=True, kw_only=True)
class RailAnswer:
    """A rail's answer: an outcome, and its identifiers of the transaction.

    A pending outcome (10001) with `needs_challenge` means that the issuer requires a 3-D Secure challenge. With
    `must_be_reversed`, the outcome holds once the authorisation is reversed: it was approved in part.
    """

    outcome: Outcome
    needs_challenge: bool = False
    must_be_reversed: bool = False
    authorization_code: str = ""
    acquirer_transaction_id: str = ""
    merchant_descriptor: str = ""

    @property
    def is_definite(self) -> bool:
        """Return whether this changes the transaction. Other answers are followed by another query."""
        return self.needs_challenge or not self.outcome.is_pending


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeDSecure:
    """The merchant's 3-D Secure options."""

    enabled: bool = False
    challenge_preference: str = "no_preference"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardOrder:
    """A card transaction as sent to the acquirer, without the card's secret. Amount in minor units."""

    id: UUID
    amount: int
    currency: str
    captures_at_once: bool
    three_ds: ThreeDSecure
    has_passed_challenge: bool
    card_bin: str
    card_last4: str
    card_expiry_month: str
    card_expiry_year: str
    system_trace_audit_number: str
    retrieval_reference_number: str
    authorization_code: str  # empty before authorisation
    descriptor: str
    is_partly_approved: bool = False  # the acquirer has approved a smaller amount
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationOrder:
    """A capture, void or refund as sent to the acquirer. Amount in minor units."""

    id: UUID
    kind: str
    amount: int
    system_trace_audit_number: str
    retrieval_reference_number: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoutOrder:
    """A transfer to a bank account: a payout, or the refund of a transfer payment. Amount in minor units."""

    id: UUID
    amount: int
    currency: str
    beneficiary: str
    account_number: str
    nip_code: str
    narration: str
    merchant_reference: str = ""  # for the bank's statements and support
    # False for an order so old that the bank may have deleted it. `query` must not send it again.
    may_be_repeated: bool = True
    # The end of the sender's lease. A process that was suspended must not send the order later.
    send_by: datetime | None = None


class CardAcquirer(Protocol):
    """Card payments and card checks. Every method but `is_available` may raise `AnswerLost`."""

    name: str  # stored with each transaction
    account: str  # stored too, such as `iso8583:host:port/institution/terminal`: only it is asked about the transaction
    capabilities: CardCapabilities

    def is_available(self) -> bool:
        """Return whether it can be reached. If not, a request returns 503 and nothing is stored."""

    def authorise(self, order: CardOrder, *, card: Card) -> RailAnswer:
        """Reserve the amount, capture it at once, or require a challenge."""

    def verify(self, order: CardOrder, *, card: Card) -> RailAnswer:
        """Check the card with its issuer. No money moves."""

    def is_right_code(self, order: CardOrder, *, code: str) -> bool:
        """Return whether the payer's one-time code is correct."""

    def resume(self, order: CardOrder) -> RailAnswer:
        """Continue an authorisation after a passed challenge. The acquirer has stored the card."""

    def query(self, order: CardOrder) -> RailAnswer:
        """Query the outcome of an authorisation or card check.

        :raises CannotTell: this acquirer has no such query; `reverse` the authorisation
        """

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        """Reverse an authorisation with an unknown outcome. Afterwards, nothing is captured or reserved.

        That also holds if the authorisation arrives later than the reversal. Idempotent. An order that the acquirer
        has approved in part is only reversed if the acquirer finds it.
        """

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        """Capture, void or refund."""

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        """Query the outcome of a capture, void or refund."""


class PayoutBank(Protocol):
    """Transfers to bank accounts. Every method but `is_available` may raise `AnswerLost`."""

    name: str  # stored with each payout
    account: str  # stored too, such as `http:host:port/client`: only it is asked about the payout
    capabilities: Capabilities

    def is_available(self) -> bool:
        """Return whether it can be reached. If not, a request returns 503 and nothing is stored."""

    def send(self, order: PayoutOrder) -> RailAnswer:
        """Transfer the amount."""

    def query(self, order: PayoutOrder) -> RailAnswer:
        """Query the outcome of a transfer. May send it again if the bank has no record and it may be repeated."""

    def account_name(self, *, account_number: str, nip_code: str) -> str | None:
        """Return the account holder's name (name enquiry), or None if there is no such account."""
