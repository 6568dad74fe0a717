"""The provider's own books: the balance that pays transfers, and what is not settled yet."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from connectors.paystack.simulator.records import BalanceLine


@dataclass(slots=True)
class Books:
    """All amounts are minor units of the integration's currency."""

    now: Callable[[], datetime]
    balance: int = 0  # pays transfers
    unsettled: int = 0  # payments less fees, refunds and lost disputes, until their settlement
    owed: int = 0  # deductions that no settlement could cover yet
    settled_to_bank: int = 0
    lines: list[BalanceLine] = field(default_factory=list)  # of the balance, oldest first
    received: list[tuple[str, int]] = field(
        default_factory=list
    )  # incoming transfers: account number, amount
    sent_back: list[tuple[str, int]] = field(default_factory=list)  # of those, what the payer got back

    def move(self, difference: int, *, model: str, row: int, reason: str = "") -> None:
        """Change the balance."""
        self.balance += difference
        self.lines.append(
            BalanceLine(len(self.lines) + 1, self.now(), difference, self.balance, reason, model, row)
        )
