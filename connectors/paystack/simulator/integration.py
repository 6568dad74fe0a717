"""One integration at Paystack: its key, its records, its clock, and how the next operations end."""

import itertools
import re
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import date, datetime

from connectors.paystack.simulator.answers import Document, Refused
from connectors.paystack.simulator.control import timelines, variants
from connectors.paystack.simulator.money.books import Books
from connectors.paystack.simulator.records import (
    Customer,
    DedicatedAccount,
    Dispute,
    Recipient,
    Refund,
    Settlement,
    Transaction,
    Transfer,
)
from connectors.paystack.simulator.webhooks import Outbox, Send
from payments.simulators.clock import Clock, Schedule

TRANSACTION_REFERENCE = re.compile(r"[A-Za-z0-9.=-]+")  # [O, D10]

# How operations go on unless a script says otherwise. In test mode a transfer succeeds at once [D5].
DEFAULTS = {
    "transfer": {"test": "success", "live": "pending 3 success"},
    "refund": dict.fromkeys(("test", "live"), "pending 3 processing 3 processed"),
    "identification": dict.fromkeys(("test", "live"), "pending 1 success"),
    "assignment": dict.fromkeys(("test", "live"), "pending 1 success"),
}
SCRIPTS = {"card", *DEFAULTS}


@dataclass(frozen=True, slots=True)
class Settings:
    secret_key: str = "sk_test_simulator"  # noqa: S105  (not a secret)
    integration: int = 463433
    business: str = "Simulated Shop"
    currency: str = "NGN"
    webhook_url: str = ""
    opening_balance: int = 100_000_000  # minor units

    @property
    def domain(self) -> str:
        return "live" if self.secret_key.startswith("sk_live_") else "test"


@dataclass
class Tables:
    customers: dict[str, Customer] = field(default_factory=dict)  # by e-mail
    transactions: dict[str, Transaction] = field(default_factory=dict)  # by reference
    sessions: dict[str, Transaction] = field(default_factory=dict)  # by account number
    accounts: dict[str, DedicatedAccount] = field(default_factory=dict)  # by account number
    recipients: dict[str, Recipient] = field(default_factory=dict)  # by code
    transfers: dict[str, Transfer] = field(default_factory=dict)  # by reference
    refunds: dict[int, Refund] = field(default_factory=dict)
    disputes: dict[int, Dispute] = field(default_factory=dict)
    settlements: dict[int, Settlement] = field(default_factory=dict)


class Integration:
    def __init__(
        self,
        settings: Settings,
        *,
        standing_at: datetime | None = None,
        choices: dict[str, str] | None = None,
        send: Send | None = None,
    ) -> None:
        self.settings = settings
        self.domain = settings.domain
        self.base_url = "http://127.0.0.1:8587"  # of the pages; the server sets its own
        self.variants = variants.chosen(choices or {})
        self.switches = dict.fromkeys(variants.SWITCHES, False)
        self.clock = Clock(standing_at)
        self.schedule = Schedule(self.clock)
        self.books = Books(now=self.clock.now)
        self.tables = Tables()
        self.outbox = Outbox(
            key=settings.secret_key, url=settings.webhook_url, domain=self.domain, clock=self.clock, send=send
        )
        self.scripts: dict[str, deque[str]] = defaultdict(deque)  # of the next operations, one each
        self.defaults = {kind: of_domain[self.domain] for kind, of_domain in DEFAULTS.items()}
        self.names: dict[str, str | None] = {}  # account numbers: their names; "" cannot be resolved
        self.free_numbers: list[str] = []  # of ended sessions
        self.resolves: list[date] = []  # days of name enquiries in test mode
        self.uploads: dict[str, bytes] = {}  # files of disputes, by name
        self.hidden_for = 0.0  # seconds during which the next new records are not found
        self._ids = itertools.count(2**53 + 1 if self.variants["ids"] == "large" else 4_099_260_516)
        self._numbers = itertools.count(9_930_000_001)
        self.books.move(settings.opening_balance, model="TopUp", row=0, reason="Opening balance")

    def now(self) -> datetime:
        return self.clock.now()

    def origin(self) -> Document:
        """Return the members that most objects begin with."""
        return {
            "integration": self.settings.integration,
            "domain": self.domain,
            "currency": self.settings.currency,
        }

    def visible_from(self) -> datetime:
        return self.clock.after(self.hidden_for)

    def next_id(self) -> int:
        return next(self._ids)

    def code(self, prefix: str) -> str:
        """Return a new code such as CUS_0000000f45c3a24."""
        return f"{prefix}_{self.next_id():015x}"

    def account_number(self) -> str:
        return str(next(self._numbers))

    def event(self, name: str, data: Document) -> None:
        self.outbox.add(name, data)

    def script(self, kind: str) -> str:
        """Take the script of the next operation of a kind, or its default."""
        return self.scripts[kind].popleft() if self.scripts[kind] else self.defaults.get(kind, "")

    def timeline(self, kind: str) -> timelines.Timeline:
        return timelines.read(self.script(kind))

    def transaction(self, reference: str) -> Transaction | None:
        """Return a transaction that queries find."""
        found = self.tables.transactions.get(reference)
        return found if found and found.visible_from <= self.now() else None

    def customer_of(self, email: str) -> Customer:
        """Return the customer of an e-mail address, created at its first use [O]."""
        known = self.tables.customers.get(email)
        if known is None:
            known = Customer(self.next_id(), email, self.code("CUS"), self.now())
            self.tables.customers[email] = known
        return known

    def new_transaction(self, *, reference: str, amount: int, email: str) -> Transaction:
        """Store a transaction.

        :raises Refused: the reference has a character that is not allowed
        """
        reference = reference or f"{self.next_id():x}"
        if not TRANSACTION_REFERENCE.fullmatch(reference):
            raise Refused("reference")
        made = Transaction(
            id=self.next_id(),
            reference=reference,
            amount=amount,
            currency=self.settings.currency,
            customer=self.customer_of(email),
            created_at=self.now(),
            visible_from=self.visible_from(),
        )
        self.tables.transactions[reference] = made
        return made
