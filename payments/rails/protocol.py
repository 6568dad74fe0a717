"""Protocols of the rails. A connector implements one of the two, and settings name it.

A rail is called outside any database transaction, after a row with our own reference was committed. Without a
definite answer it raises `AnswerLost`: the transaction stays pending and is queried later.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, Self
from uuid import UUID

from kit.connectors.capabilities import Capabilities
from payments.rules.cards import Card, brand_of
from payments.rules.outcomes import Outcome

_CARD_DETAILS = re.compile(r"\d{6} \d{4} (0[1-9]|1[0-2]) \d{4}", re.ASCII)  # of masked cards


class AnswerLost(Exception):
    """The rail gave no definite answer. It may or may not have acted."""


class NotReceived(Exception):
    """The rail has no record of an order. It deletes none, so the order can be sent again, and is carried out once."""

    def __init__(self, *, resend_after: timedelta) -> None:
        """`resend_after` is how long the rail may not find an order that it has received."""
        super().__init__("no record of the order")
        self.resend_after = resend_after


class CannotTell(Exception):
    """The acquirer has no query for authorisations. Reverse the authorisation instead."""


class NoRecord(AnswerLost):
    """The acquirer knows no such authorisation at present. It may appear later."""


class NotSent(AnswerLost):
    """The order came too late to be sent, and is never sent."""


class RateLimited(AnswerLost):
    """The provider's rate limit leaves no call for this query at the moment. It wasn't asked."""


class RailBlocked(AnswerLost):
    """The provider refuses our account, not this order: a key, a permission, a limit, a lack of balance.

    The order had no effect there. The rail is blocked, for orders of at least `amount` in minor units if it is given,
    until a probe succeeds or staff unblock it. `reason` is a sentence for staff.
    """

    def __init__(self, reason: str, *, amount: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.amount = amount


class ActionKind(StrEnum):
    """What a payer is asked to do. All but `redirect` are inputs on our own page."""

    REDIRECT = "redirect"  # go to the provider's or issuer's page, and come back
    OTP = "otp"
    PIN = "pin"
    PHONE = "phone"
    BIRTHDAY = "birthday"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True, kw_only=True)
class PayerAction:
    """What a payer must do before the acquirer decides."""

    kind: ActionKind
    prompt: str = ""  # the provider's sentence for the payer, at most 255 characters of plain text
    url: str = ""  # of a redirect


class Reverses(StrEnum):
    """How surely an acquirer can take back an authorisation whose answer was lost."""

    # Afterwards, nothing is captured or reserved, even if the authorisation arrives later.
    DEFINITE = "definite"
    # Only what it knows. An authorisation that appears later is voided or refunded then.
    BY_REFUND = "by_refund"


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
class MaskedCard:
    """A card that was entered on a provider's page, as far as the provider shows it and we may store it."""

    brand: str
    bin: str
    last4: str
    expiry_month: str
    expiry_year: str

    @classmethod
    def read(cls, first_six: object, last_four: object, month: object, year: object) -> Self | None:
        """Return the card of a provider's answer, or None if some of it is missing or malformed."""
        details = f"{first_six} {last_four} {month} {year}"
        if not _CARD_DETAILS.fullmatch(details):
            return None
        first, last, mm, yyyy = details.split()
        return cls(brand=brand_of(first), bin=first, last4=last, expiry_month=mm, expiry_year=yyyy)


@dataclass(frozen=True, slots=True, kw_only=True)
class RailAnswer:
    """A rail's answer: an outcome, and its identifiers of the transaction or operation.

    A pending outcome (10001) with an `action` means that the payer must act first. A pending outcome of a capture, void or
    refund means that it was accepted: a later query returns its outcome. `acquirer_reference` is stored with every answer,
    pending ones too, and handed back in orders. With `must_be_reversed`, the outcome holds once the authorisation is
    reversed: it was approved in part. A pending outcome with it means that more was approved than ordered.
    """

    outcome: Outcome
    # False: a failure at a provider's page on which the payer can try again, so that it may still be charged.
    is_final: bool = True
    card: MaskedCard | None = None  # of a payment whose card was entered on the provider's page
    action: PayerAction | None = None
    must_be_reversed: bool = False
    acquirer_reference: str = ""  # the provider's own identifier, such as `pay_…`, at most 64 characters
    authorization_code: str = ""
    acquirer_transaction_id: str = ""
    retrieval_reference_number: str = ""  # empty: ours stays
    merchant_descriptor: str = ""
    cost: int | None = None  # what the provider charges us for it, if it says, in minor units
    expires_at: datetime | None = None  # of an authorisation; never later than our own limit
    was_repeated: bool = False  # the order was sent twice, and the provider may carry out both
    # This call sent the order, and the bank accepted it: its account there isn't blocked.
    is_accepted: bool = False
    # Of a pending refund: a sentence for staff, who must act before the provider can carry it out.
    attention: str = ""
    # Why no further order is sent, for staff, although the bank has this one. As in `RailBlocked`.
    blocked_reason: str = ""

    @property
    def is_definite(self) -> bool:
        """Return whether this changes the transaction. Other answers are followed by another query."""
        return self.action is not None or not self.outcome.is_pending


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeDSecure:
    """The merchant's 3-D Secure options."""

    enabled: bool = False
    challenge_preference: str = "no_preference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """Who pays, as far as the merchant told. Empty texts are unknown."""

    name: str = ""
    email: str = ""
    ip_address: str = ""


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
    acquirer_reference: str = ""  # the provider's own identifier, once it was told
    # The provider's identifiers of the order's payments that we know, if only further ones are meant.
    beside: frozenset[str] = frozenset()
    payer: Payer = Payer()
    is_on_our_page: bool = (
        False  # the payer is on a page of ours, where a redirect needs no request for 3-D Secure
    )
    return_url: str = ""  # ours: where the payer comes back to after a redirect
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationOrder:
    """A capture, void or refund as sent to the acquirer. Amount in minor units."""

    id: UUID
    kind: str
    amount: int
    system_trace_audit_number: str
    retrieval_reference_number: str
    acquirer_reference: str = ""  # the provider's own identifier of the operation, once it was told
    # An earlier refund of the payment is pending. A provider that takes one at a time is sent this one after its end.
    must_wait: bool = False
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
    # Of money that goes back through the provider that received it: that transfer's bank reference there.
    received_as: str = ""
    acquirer_reference: str = ""  # the provider's own identifier, once it was told
    must_wait: bool = False  # as in OperationOrder
    created_at: datetime | None = None
    # False for an order so old that the bank may have deleted it, or of frozen payouts. `query` must not send it again.
    may_be_repeated: bool = True
    # The end of the sender's lease. A process that was suspended must not send the order later.
    send_by: datetime | None = None


class CardAcquirer(Protocol):
    """Card payments and card checks. Every method but `is_available` may raise `AnswerLost`.

    One whose provider may carry out an order twice has `may_charge_twice = True`, and follows `CardOrder.beside` in `query`
    and `reverse`.
    """

    name: str  # stored with each transaction
    account: str  # stored too, such as `iso8583:host:port/institution/terminal`: only it is asked about the transaction
    capabilities: CardCapabilities
    reverses: Reverses

    def is_available(self) -> bool:
        """Return whether it can be reached. If not, a request returns 503 and nothing is stored."""

    def authorise(self, order: CardOrder, *, card: Card) -> RailAnswer:
        """Reserve the amount, capture it at once, or require a challenge."""

    def verify(self, order: CardOrder, *, card: Card) -> RailAnswer:
        """Check the card with its issuer. No money moves."""

    def answer_action(self, order: CardOrder, *, kind: ActionKind, value: Mapping[str, str]) -> RailAnswer:
        """Send what the payer entered, and return the outcome or the next action.

        `value` holds the input under the name of its kind; an address has five: `address`, `city`, `state`, `zip_code`,
        `country`. A wrong input is answered with the same action again. The input is secret, and never sent twice: after
        `AnswerLost`, the acquirer is queried.
        """

    def query(self, order: CardOrder) -> RailAnswer:
        """Query the outcome of an authorisation or card check.

        :raises CannotTell: this acquirer has no such query; `reverse` the authorisation
        :raises NoRecord: it knows no such authorisation at present
        """

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        """Reverse an authorisation with an unknown outcome. Afterwards, nothing is captured or reserved.

        With `Reverses.DEFINITE`, that also holds if the authorisation arrives later than the reversal. With `BY_REFUND`, it
        is voided or refunded if the acquirer finds it, and a void or refund that was only accepted raises `AnswerLost`;
        call again. Idempotent. An order that the acquirer has approved in part is only reversed if the acquirer finds it.

        :raises NoRecord: with `BY_REFUND`, the acquirer knows no such authorisation at present
        """

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        """Capture, void or refund."""

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        """Query the outcome of a capture, void or refund.

        :raises NotReceived: it has no record of a refund; the caller decides when `operate` sends it again
        """


class HostedPages(Protocol):
    """What an acquirer has that takes cards on its own page (`CardCapabilities.hosted_only`). It gets no card number."""

    page_of: str  # whose page it is, as payers know the provider

    def open_page(self, order: CardOrder) -> RailAnswer:
        """Open a page for a payment, and return the redirect to it. After `AnswerLost`, it is never shown."""


class RefundAccounts(Protocol):
    """What an acquirer or bank has whose refunds may need the payer's account (`RailAnswer.attention`)."""

    def give_account(
        self, refund: OperationOrder, *, currency: str, account_number: str, nip_code: str
    ) -> RailAnswer:
        """Name the account to which the provider pays a refund. It pays it once, to the first account that it takes.

        A refusal leaves the refund as it is: pending, with another `attention`. Raises `AnswerLost` and `RailBlocked`.
        """


class PayoutBank(Protocol):
    """Transfers to bank accounts. Every method but `is_available` may raise `AnswerLost`.

    `send` and `query` raise `RailBlocked` if the bank refuses the order for a fault of ours.
    """

    name: str  # stored with each payout
    account: str  # stored too, such as `http:host:port/client`: only it is asked about the payout
    capabilities: Capabilities

    def is_available(self) -> bool:
        """Return whether it can be reached. If not, a request returns 503 and nothing is stored."""

    def send(self, order: PayoutOrder) -> RailAnswer:
        """Transfer the amount."""

    def query(self, order: PayoutOrder) -> RailAnswer:
        """Query the outcome of a transfer. May send it again if the bank has no record and it may be repeated.

        :raises NotReceived: the bank has no record; the caller decides when the order is sent again
        """

    def account_name(self, *, account_number: str, nip_code: str, given_name: str = "") -> str | None:
        """Return the account holder's name (name enquiry), or None if there is no such account.

        `given_name` is the one that the answer will be compared with. Only the sandbox's bank uses it.
        """
