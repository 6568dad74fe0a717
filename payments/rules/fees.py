"""Merchant fees of successful transactions: basis points, a fixed part and a cap, in whole minor units.

Rules are per currency, because the fixed part and the cap are amounts.

>>> fee(CARD, 1_000_00), fee(CARD, 250_000), fee(CARD, 100_000_000)
(1500, 13750, 200000)
>>> [fee(PAYOUT, amount) for amount in (500_000, 500_001, 5_000_001)]
[1000, 2500, 5000]
>>> [fee(default_rule(Flow.CARD, currency), 250_000) for currency in ("NGN", "USD", "JPY")]
[13750, 9750, 9750]
>>> FeeRule.from_snapshot(CARD.snapshot) == CARD
True
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from kit.money.money import has_minor_unit

Snapshot: TypeAlias = dict[str, Any]


class Flow(StrEnum):
    """The kind of transaction that a fee applies to."""

    CARD = "card"
    VIRTUAL_ACCOUNT = "virtual_account"
    PAYOUT = "payout"
    CARD_CHECK = "card_check"


class InvalidFeeRule(ValueError):
    """A fee rule is invalid. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeRule:
    """Basis points of the amount, plus a fixed part, up to a cap.

    The fixed part is the price of the first of `steps` whose limit is at least the amount, or `fixed` if the
    amount exceeds every limit. It is waived for amounts below `fixed_waived_below`.
    """

    basis_points: int = 0
    fixed: int = 0
    fixed_waived_below: int = 0
    cap: int | None = None
    steps: tuple[tuple[int, int], ...] = ()  # (limit, price), both ascending

    @property
    def snapshot(self) -> Snapshot:
        """Return the fields that differ from a rule without a fee, as plain JSON."""
        return {
            name: [list(step) for step in value] if name == "steps" else value
            for name, value in ((name, getattr(self, name)) for name in self.__slots__)
            if value != getattr(FREE, name)
        }

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> "FeeRule":
        steps = tuple((limit, price) for limit, price in snapshot.get("steps", ()))
        return cls(**{**snapshot, "steps": steps})

    def check(self) -> None:
        """Check that fees are never negative and never decrease as the amount grows.

        :raises InvalidFeeRule: the rule doesn't ensure that
        """
        if not 0 <= self.basis_points <= WHOLE:
            raise InvalidFeeRule(f"Basis points must lie between 0 and {WHOLE}.")
        if min(self.fixed, self.fixed_waived_below, self.cap or 0) < 0:
            raise InvalidFeeRule("The fixed part, its waiver and the cap must not be negative.")
        limits = [limit for limit, _ in self.steps]
        prices = [price for _, price in self.steps] + [self.fixed]
        if any(limit <= 0 for limit in limits) or limits != sorted(set(limits)):
            raise InvalidFeeRule("The limits of the steps must be positive and ascending.")
        if min(prices) < 0 or prices != sorted(prices):
            raise InvalidFeeRule("The prices of the steps and the fixed part after them must ascend.")


WHOLE = 10_000  # basis points
FREE = FeeRule()
CARD = FeeRule(basis_points=150, fixed=10_000, fixed_waived_below=250_000, cap=200_000)
VIRTUAL_ACCOUNT = FeeRule(basis_points=100, cap=30_000)
PAYOUT = FeeRule(steps=((500_000, 1_000), (5_000_000, 2_500)), fixed=5_000)

# Fees of a business without an agreement: in HOME_CURRENCY, and in other currencies.
HOME_CURRENCY = "NGN"
DEFAULTS = {
    Flow.CARD: CARD,
    Flow.VIRTUAL_ACCOUNT: VIRTUAL_ACCOUNT,
    Flow.PAYOUT: PAYOUT,
    Flow.CARD_CHECK: FREE,
}
PERCENTAGES = {
    Flow.CARD: FeeRule(basis_points=390),
    Flow.VIRTUAL_ACCOUNT: FeeRule(basis_points=100),
    Flow.PAYOUT: FeeRule(basis_points=100),
    Flow.CARD_CHECK: FREE,
}


def default_rule(flow: Flow, currency: str) -> FeeRule | None:
    """Return the default of a flow in a currency, or None if the currency has no minor unit in ISO 4217."""
    if currency == HOME_CURRENCY:
        return DEFAULTS[flow]
    return PERCENTAGES[flow] if has_minor_unit(currency) else None


def fee(rule: FeeRule, amount: int) -> int:
    """Apply a rule to an amount. Only the percentage part is rounded, half up."""
    share = (amount * rule.basis_points + WHOLE // 2) // WHOLE
    total = share + _fixed_part(rule, amount)
    return total if rule.cap is None else min(total, rule.cap)


def withheld_fee(rule: FeeRule, amount: int) -> int:
    """Apply a rule to incoming money. The fee never exceeds the amount."""
    return min(fee(rule, amount), amount)


def _fixed_part(rule: FeeRule, amount: int) -> int:
    if amount < rule.fixed_waived_below:
        return 0
    return next((price for limit, price in rule.steps if amount <= limit), rule.fixed)


def flow_of(request_type: str, method: str) -> Flow:
    """Return the flow whose fee applies to a transaction.

    >>> flow_of("payment", "card"), flow_of("payout", "bank")
    (<Flow.CARD: 'card'>, <Flow.PAYOUT: 'payout'>)
    """
    return Flow(method if request_type == "payment" else request_type)
