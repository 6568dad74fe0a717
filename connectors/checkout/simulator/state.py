"""The merchant's account at the simulated Checkout.com: payments, pages, disputes."""

import base64
import hashlib
import secrets
import string
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from connectors.checkout.simulator import tables
from connectors.checkout.simulator.control.settings import Delays, Identity, Variants
from connectors.checkout.simulator.tables import Authentication
from payments.simulators.clock import Clock, Schedule

Document = dict[str, Any]
_PAGE_LETTERS = string.ascii_letters + string.digits + "_-"


def timestamp(moment: datetime | None) -> str:
    """Format a moment as Checkout.com does. None becomes an empty text.

    >>> timestamp(datetime.fromisoformat("2026-03-10T12:00Z"))
    '2026-03-10T12:00:00.000Z'
    """
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment else ""


@dataclass(slots=True)
class Action:
    """An authorisation, capture, void or refund of a payment. Minor units."""

    id: str
    type: str
    amount: int
    reference: str
    requested_on: datetime
    is_final: bool = True  # a capture that releases the rest
    metadata: Document = field(default_factory=dict)
    approved: bool | None = None  # None until it is decided
    code: str = tables.PENDING
    processed_on: datetime | None = None
    auth_code: str = ""
    recommendation: str = ""
    number: int = 0  # makes its references unique

    @property
    def arn(self) -> str:
        return f"{self.number:023}"


@dataclass(frozen=True, slots=True)
class Card:
    """A card without what must not be stored, and what the tables of test cards say about it."""

    source: Document  # as answers show it
    code: str  # of its authorisations
    check_code: str
    authentication: Authentication
    declines_operations: bool
    recommends: bool
    is_disputed: bool

    @property
    def last4(self) -> str:
        return str(self.source["last4"])

    @property
    def scheme(self) -> str:
        return str(self.source["scheme"])


class Stage(Enum):
    PENDING = "Pending"  # waits for the payer
    AUTHORIZED = "Authorized"  # approved; its balances say how much is captured, voided and refunded
    VERIFIED = "Card Verified"
    DECLINED = "Declined"
    CANCELED = "Canceled"
    EXPIRED = "Expired"


@dataclass(slots=True)
class Payment:
    """A payment or card check. Minor units."""

    id: str
    session: str  # of 3-D Secure
    order: Document  # as requested, without its source
    card: Card
    amount: int
    currency: str
    reference: str
    requested_on: datetime
    found_from: datetime  # not found by its id before
    indexed_from: datetime  # not found by its reference before
    page: str = ""  # the hosted page that it was made on
    stage: Stage = Stage.PENDING
    stored_card: str = ""  # src_…, unless the request forbids it
    customer: Document = field(default_factory=dict)
    three_ds: Document = field(default_factory=dict)
    challenge_ends: datetime | None = None
    expires_on: datetime | None = None
    actions: list[Action] = field(default_factory=list)
    last_attempt: Action | None = None  # to authorise or check it
    authorized: int = 0
    voided: int = 0
    captured: int = 0
    refunded: int = 0
    expired: int = 0  # released at the end of its life

    @property
    def is_check(self) -> bool:
        return self.amount == 0

    @property
    def status(self) -> str:
        if self.stage is not Stage.AUTHORIZED:
            return str(self.stage.value)
        if self.refunded:
            return "Refunded" if self.refunded == self.captured else "Partially Refunded"
        if self.captured:
            return "Captured" if self.captured == self.authorized else "Partially Captured"
        return "Voided" if self.voided == self.authorized else "Authorized"

    @property
    def capturable(self) -> int:
        return self.authorized - self.captured - self.voided - self.expired

    @property
    def refundable(self) -> int:
        return self.captured - self.refunded

    def undecided(self, *types: str) -> int:
        """Return the amount of accepted operations that aren't decided."""
        return sum(
            action.amount for action in self.actions if action.type in types and action.approved is None
        )


@dataclass(slots=True)
class HostedPage:
    id: str
    order: Document
    expires_at: datetime
    payments: list[str] = field(default_factory=list)
    received: str = ""  # the payment that was approved
    note: str = ""  # what the payer is told

    def status(self, now: datetime) -> str:
        if self.received:
            return "Payment Received"
        return "Expired" if now >= self.expires_at else "Payment Pending"


@dataclass(slots=True)
class Dispute:
    id: str
    payment: str
    action: str
    amount: int
    category: str
    reason_code: str
    received_on: datetime
    due: datetime
    status: str = "evidence_required"
    resolved_reason: str = ""
    evidence: dict[str, str] = field(default_factory=dict)
    is_submitted: bool = False
    last_update: datetime | None = None


@dataclass(slots=True)
class Upload:
    id: str
    filename: str
    content: bytes


class Account:
    """Everything that the provider knows. Not thread-safe: the simulator locks it."""

    def __init__(self, *, identity: Identity, clock: Clock, base_url: str, seed: str = "") -> None:
        self.identity, self.clock, self.base_url = identity, clock, base_url
        self.schedule = Schedule(clock)
        self.variants, self.delays = Variants(), Delays()
        self.payments: dict[str, Payment] = {}
        self.references: defaultdict[str, list[Payment]] = defaultdict(list)
        self.sessions: dict[str, str] = {}  # sid_… to pay_…
        self.pages: dict[str, HostedPage] = {}
        self.disputes: dict[str, Dispute] = {}
        self.uploads: dict[str, Upload] = {}
        self.customers: dict[str, str] = {}  # e-mail address to cus_…
        self.decisions: defaultdict[str, deque[str]] = defaultdict(
            deque
        )  # codes of the next actions, by type
        self._seed, self._count = seed or secrets.token_hex(8), 0

    def new_id(self, prefix: str, length: int = 26) -> str:
        digest = hashlib.sha256(f"{self._seed}{self.next_number()}".encode()).digest()
        if prefix == "hpp":
            return "hpp_" + "".join(_PAGE_LETTERS[byte % len(_PAGE_LETTERS)] for byte in digest[:12])
        return f"{prefix}_{base64.b32encode(digest)[:length].decode().lower()}"

    def next_number(self) -> int:
        self._count += 1
        return self._count

    def link(self, *path: str) -> Document:
        return {"href": "/".join([self.base_url, *path])}

    def found(self, identifier: str) -> Payment | None:
        """Return the payment of a `pay_…` or `sid_…`, unless it is too young to be found."""
        payment = self.payments.get(self.sessions.get(identifier, identifier))
        return payment if payment and payment.found_from <= self.clock.now() else None

    def with_reference(self, reference: str) -> list[Payment]:
        """Return the payments that a search by reference finds, newest first."""
        now = self.clock.now()
        return [one for one in reversed(self.references.get(reference, [])) if one.indexed_from <= now]

    def add(self, payment: Payment) -> None:
        self.payments[payment.id] = payment
        self.sessions[payment.session] = payment.id
        self.references[payment.reference].append(payment)


def without_empty(document: Document) -> Document:
    """Return a document without members that are None or empty. Checkout.com omits them."""
    return {name: value for name, value in document.items() if value not in (None, "", {}, [])}
