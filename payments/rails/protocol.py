"""What a rail must do. A connector implements one of the two protocols; settings name it.

A rail is called outside every database transaction, after a row with our own reference was committed.
If no definite answer comes back it raises `AnswerLost`: the transaction stays pending and is asked about
again with `query`, never guessed.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from payments.cards import Card
from payments.outcomes import Outcome


class AnswerLost(Exception):
    """The rail was asked and no definite answer came: it may have acted or not."""


class CannotTell(Exception):
    """The acquirer cannot be asked what became of an authorisation: it is to be reversed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RailAnswer:
    """What a rail said: an outcome, and its own names for the transaction.

    A pending outcome (10001) with `needs_challenge` means that the issuer wants to see the payer.
    """

    outcome: Outcome
    needs_challenge: bool = False
    authorization_code: str = ""
    acquirer_transaction_id: str = ""
    merchant_descriptor: str = ""

    @property
    def is_definite(self) -> bool:
        """Tell whether this moves anything; a rail that says "not yet" is asked again later."""
        return self.needs_challenge or not self.outcome.is_pending


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeDSecure:
    """What the merchant asked of 3-D Secure."""

    enabled: bool = False
    challenge_preference: str = "no_preference"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardOrder:
    """A card transaction as the acquirer knows it, without the card's secret. Amount in minor units."""

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
    authorization_code: str  # empty until it was authorised
    descriptor: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationOrder:
    """A capture, void or refund as the acquirer knows it. Amount in minor units."""

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
    # False: the order is so old that the bank may have deleted it. `query` must not send it again then.
    may_be_repeated: bool = True
    # The sender's lease ends then. A process that was stopped must not send it afterwards.
    send_by: datetime | None = None


class CardAcquirer(Protocol):
    """Card payments and card checks. Every method but `is_available` may raise `AnswerLost`."""

    name: str  # stored with each transaction, so that nobody else is ever asked about it
    has_three_d_secure: bool

    def is_available(self) -> bool:
        """Tell whether it can be reached; if not, a request is answered with 503 and nothing is stored."""

    def authorise(self, order: CardOrder, *, card: Card) -> RailAnswer:
        """Reserve the amount, or take it at once, or ask for a challenge."""

    def verify(self, order: CardOrder, *, card: Card) -> RailAnswer:
        """Ask the issuer about the card; no money moves."""

    def is_right_code(self, order: CardOrder, *, code: str) -> bool:
        """Tell whether the payer's one-time code is the issuer's."""

    def resume(self, order: CardOrder) -> RailAnswer:
        """Go on with an authorisation whose challenge was passed. The acquirer has kept the card."""

    def query(self, order: CardOrder) -> RailAnswer:
        """Ask what became of an authorisation or check.

        :raises CannotTell: this acquirer has no way to ask; `reverse` it
        """

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        """Undo an authorisation whose outcome is unknown. When this returns, nothing is taken or reserved.

        Not even should the authorisation arrive after this. May be called again and again.
        """

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        """Capture, void or refund."""

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        """Ask what became of a capture, void or refund."""


class PayoutBank(Protocol):
    """Transfers to bank accounts. Every method but `is_available` may raise `AnswerLost`."""

    name: str  # stored with each payout, so that nobody else is ever asked about it

    def is_available(self) -> bool:
        """Tell whether it can be reached; if not, a request is answered with 503 and nothing is stored."""

    def send(self, order: PayoutOrder) -> RailAnswer:
        """Transfer the amount."""

    def query(self, order: PayoutOrder) -> RailAnswer:
        """Ask what became of a transfer. May send it again where the bank never received it, if it may be repeated."""

    def account_name(self, *, account_number: str, nip_code: str) -> str | None:
        """Return the name that an account is held in (name enquiry); None where there is no such account."""
