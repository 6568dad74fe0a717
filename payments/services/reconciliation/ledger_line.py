"""What the ledger expects on a statement: one movement of money, or the sum of a day's card payments.

>>> due_on(date(2026, 1, 5)).isoformat(), due_on(date(2026, 1, 9)).isoformat(), due_on(date(2026, 1, 8), 2).isoformat()
('2026-01-06', '2026-01-12', '2026-01-12')
>>> due_on(date(2026, 12, 24), holidays=frozenset({date(2026, 12, 25)})).isoformat()
'2026-12-28'
"""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from uuid import UUID

from payments.rules.settlement.payout_days import is_open

# Of a bank's own transfers
PAYOUT, REFUND, TRANSFER, UNCLAIMED, RETURN, TOP_UP, JOURNAL = (
    "payout", "refund", "transfer", "unclaimed", "payout_reversed", "top_up", "journal",
)  # fmt: skip
# Of an acquirer
PAYMENT, CARD_REFUND, LATE_CHARGE, LATE_CHARGE_BACK = (
    "payment", "card_refund", "late_charge", "late_charge_back",
)  # fmt: skip
DISPUTE, DISPUTE_BACK = "dispute", "dispute_back"  # debited by the acquirer, and given back
OF_ACQUIRERS = frozenset({PAYMENT, CARD_REFUND, LATE_CHARGE, LATE_CHARGE_BACK, DISPUTE, DISPUTE_BACK})
CARD_DAY = "card_day"  # the sum of an acquirer's payments of a day or of several, less refunds and disputes
SETTLEMENT = "settlement"  # what an acquirer says it has paid out to our bank account
PAID_OUT = "paid_out"  # the same, on the acquirer's own statement
COST = "cost"  # what an acquirer, provider or bank kept
# The kinds of costs that staff are offered. Statements may name others.
COSTS = ("interchange", "scheme", "provider", "chargeback", "transfer", "other")

BY_STAFF = frozenset({JOURNAL, TOP_UP})
ENTERED_WITHIN = timedelta(days=35)  # after the bank's line, which staff often see on a statement of a month
ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """A movement of money that a statement must have. Amounts are minor units; what we receive is positive.

    References of the bank, and those that we generate for it, are unique across all businesses. A merchant's may repeat.
    """

    kind: str
    id: UUID
    references: tuple[Hashable, ...]  # a text of the rail, or another id of ours
    amount: int
    or_amount: int | None = None  # what a line with its reference may have as well
    day: date
    begun: date | None = None  # of a stage of a dispute: a line from before is rather of an earlier stage
    may_be_missing: bool = False  # valid with or without it on the statement
    settles_after: int = 1  # business days until its statement must have it
    holidays: frozenset[date] = frozenset()  # of its currency
    sum_of: str = ""  # the acquirer that may pay it in the sum of its day
    told_cost: int = 0  # what the acquirer said it keeps of it
    cost: str = ""  # of a cost: which one
    parts: tuple["LedgerLine", ...] = ()  # of a sum

    @property
    def earliest(self) -> date:
        """Return the first day on which a statement may have it. Staff enter what they have seen on one."""
        return self.day - ENTERED_WITHIN if self.kind in BY_STAFF else self.day

    @property
    def due(self) -> date:
        """Return the last day on which a statement may have it."""
        return due_on(self.day, self.settles_after, self.holidays)

    @property
    def leaves(self) -> tuple["LedgerLine", ...]:
        """Return what is matched if this is: itself, or the parts of a sum."""
        return self.parts or (self,)


@lru_cache(maxsize=1_000)  # of very many lines, few differ
def due_on(day: date, business_days: int = 1, holidays: frozenset[date] = frozenset()) -> date:
    """Return the last day on which a statement may have what happened on a day, some business days later."""
    for _ in range(business_days):
        day += ONE_DAY
        while not is_open(day, holidays):
            day += ONE_DAY
    return day
