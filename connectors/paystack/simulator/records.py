"""The records that Paystack keeps."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Document = dict[str, Any]


@dataclass(slots=True)
class Customer:
    id: int
    email: str
    code: str
    created_at: datetime
    first_name: str | None = None
    last_name: str | None = None
    phone: str | None = None
    metadata: Any = None
    is_identified: bool = False


@dataclass(slots=True)
class Step:
    """What a card's payer does next: see `tables.py`."""

    kind: str
    expected: str = ""  # the only right answer; for `pending`, the seconds


@dataclass(slots=True)
class Transaction:
    id: int
    reference: str
    amount: int
    currency: str
    customer: Customer
    created_at: datetime
    visible_from: datetime
    channel: str = "card"
    entry_point: str = "charge"
    status: str = "initialized"  # of the charge; verify translates it
    metadata: Any = ""
    callback_url: str = ""
    access_code: str = ""
    gateway_code: str = ""
    paid_at: datetime | None = None
    fees: int | None = None
    authorization: Document = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    result: str = ""  # gateway code after the last step
    wrong_tries: int = 0
    session: "Session | None" = None
    is_disputed_away: bool = False
    settlement: int | None = None


@dataclass(slots=True)
class Session:
    """A one-time account of Pay with Transfer."""

    account_number: str
    bank: Document
    account_name: str
    expires_at: datetime


@dataclass(slots=True)
class DedicatedAccount:
    id: int
    account_number: str
    customer: Customer
    slug: str
    bank_name: str
    bank_id: int
    account_name: str
    created_at: datetime
    is_assigned: bool = True
    requeried_at: datetime | None = None
    unnoticed: list[Document] = field(default_factory=list)  # money that a requery finds


@dataclass(slots=True)
class Recipient:
    id: int
    code: str
    name: str
    account_number: str
    account_name: str | None
    bank_code: str
    bank_name: str
    currency: str
    created_at: datetime


@dataclass(slots=True)
class Transfer:
    id: int
    reference: str
    amount: int
    fee: int
    currency: str
    recipient: Recipient
    code: str
    reason: str
    created_at: datetime
    visible_from: datetime
    updated_at: datetime
    status: str = "pending"
    session_id: str | None = None
    transferred_at: datetime | None = None


@dataclass(slots=True)
class Refund:
    id: int
    transaction: Transaction
    amount: int
    customer_note: str
    merchant_note: str
    created_at: datetime
    updated_at: datetime
    status: str = "pending"
    reference: str | None = None
    settlement: int | None = None


@dataclass(slots=True)
class Dispute:
    id: int
    transaction: Transaction
    amount: int
    category: str | None
    created_at: datetime
    updated_at: datetime
    due_at: datetime
    shown_amount: int | None = None  # in answers, where it isn't the disputed one
    status: str = "awaiting-merchant-feedback"
    resolution: str | None = None
    resolved_at: datetime | None = None
    evidence: Document | None = None
    attachments: str | None = None
    history: list[Document] = field(default_factory=list)
    messages: list[Document] = field(default_factory=list)
    settlement: int | None = None


@dataclass(slots=True)
class Settlement:
    id: int
    created_at: datetime
    processed: int
    fees: int
    deductions: int
    paid: int


@dataclass(slots=True)
class BalanceLine:
    id: int
    at: datetime
    difference: int
    balance: int
    reason: str
    model: str  # Transaction, Transfer, Refund, Dispute, Settlement, TopUp
    row: int
