"""What a successful transaction costs the merchant: basis points + fixed + cap, in whole minor units.

>>> fee(CARD, 1_000_00), fee(CARD, 250_000), fee(CARD, 100_000_000)
(1500, 13750, 200000)
>>> [payout_fee(amount) for amount in (500_000, 500_001, 5_000_001)]
[1000, 2500, 5000]
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeRule:
    """Basis points of the amount, plus a fixed part that small amounts are spared, up to a cap."""

    basis_points: int
    fixed: int = 0
    fixed_waived_below: int = 0
    cap: int


CARD = FeeRule(basis_points=150, fixed=10_000, fixed_waived_below=250_000, cap=200_000)
# The first row whose limit the amount does not exceed; the last one has no limit.
PAYOUT_STEPS = ((500_000, 1_000), (5_000_000, 2_500))
PAYOUT_ABOVE = 5_000


def fee(rule: FeeRule, amount: int) -> int:
    """Apply a rule to an amount; the share is rounded half up."""
    share = (amount * rule.basis_points + 5_000) // 10_000
    fixed = rule.fixed if amount >= rule.fixed_waived_below else 0
    return min(share + fixed, rule.cap)


def payout_fee(amount: int) -> int:
    return next((price for limit, price in PAYOUT_STEPS if amount <= limit), PAYOUT_ABOVE)
