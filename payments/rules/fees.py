"""Merchant fees of successful transactions, and the tax on them, in whole minor units.

A fee has basis points, a fixed part and a cap. Rules are per currency, because the fixed part and the cap are amounts.

>>> fee(CARD, 1_000_00), fee(CARD, 250_000), fee(CARD, 100_000_000)
(1500, 13750, 200000)
>>> [fee(PAYOUT, amount) for amount in (500_000, 500_001, 5_000_001)]
[1000, 2500, 5000]
>>> [fee(default_rule(Flow.CARD, currency), 250_000) for currency in ("NGN", "USD", "JPY")]
[13750, 9750, 9750]
>>> FeeRule.from_snapshot(CARD.snapshot) == CARD
True
>>> charge(FeeRule(basis_points=150, tax_basis_points=750), 50_000)
Charge(fee=750, tax=56, stamp_duty=0)
"""

from dataclasses import dataclass, replace
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
    SETTLEMENT = "settlement"  # payouts to the business's settlement account


class InvalidFeeRule(ValueError):
    """A fee rule is invalid. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeRule:
    """Basis points of the amount, plus a fixed part, up to a cap.

    The fixed part is the price of the first of `steps` whose limit is at least the amount, or `fixed` if the
    amount exceeds every limit. It is waived for amounts below `fixed_waived_below`. The tax is a share of the fee,
    charged in addition to it. Stamp duty is a fixed tax on outgoing amounts from `stamp_duty_from` on.
    """

    basis_points: int = 0
    fixed: int = 0
    fixed_waived_below: int = 0
    cap: int | None = None
    steps: tuple[tuple[int, int], ...] = ()  # (limit, price), both ascending
    tax_basis_points: int = 0
    stamp_duty: int = 0
    stamp_duty_from: int = 0

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
        if not 0 <= self.tax_basis_points <= WHOLE:
            raise InvalidFeeRule(f"Basis points of the tax must lie between 0 and {WHOLE}.")
        if min(self.fixed, self.fixed_waived_below, self.cap or 0) < 0:
            raise InvalidFeeRule("The fixed part, its waiver and the cap must not be negative.")
        if min(self.stamp_duty, self.stamp_duty_from) < 0:
            raise InvalidFeeRule("The stamp duty and the amount that it begins at must not be negative.")
        limits = [limit for limit, _ in self.steps]
        prices = [price for _, price in self.steps] + [self.fixed]
        if any(limit <= 0 for limit in limits) or limits != sorted(set(limits)):
            raise InvalidFeeRule("The limits of the steps must be positive and ascending.")
        if min(prices) < 0 or prices != sorted(prices):
            raise InvalidFeeRule("The prices of the steps and the fixed part after them must ascend.")


@dataclass(frozen=True, slots=True)
class Charge:
    """What a transaction costs its merchant, in minor units: our fee, the tax on it, and stamp duty on the amount."""

    fee: int = 0
    tax: int = 0
    stamp_duty: int = 0

    @property
    def taxes(self) -> int:
        return self.tax + self.stamp_duty

    @property
    def total(self) -> int:
        return self.fee + self.taxes


WHOLE = 10_000  # basis points
NO_CHARGE = Charge()
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
    Flow.SETTLEMENT: FREE,
}
PERCENTAGES = {
    Flow.CARD: FeeRule(basis_points=390),
    Flow.VIRTUAL_ACCOUNT: FeeRule(basis_points=100),
    Flow.PAYOUT: FeeRule(basis_points=100),
    Flow.CARD_CHECK: FREE,
    Flow.SETTLEMENT: FREE,
}


def default_rule(flow: Flow, currency: str) -> FeeRule | None:
    """Return the default of a flow in a currency, or None if the currency has no minor unit in ISO 4217."""
    if currency == HOME_CURRENCY:
        return DEFAULTS[flow]
    return PERCENTAGES[flow] if has_minor_unit(currency) else None


def fee(rule: FeeRule, amount: int) -> int:
    """Return the fee of an amount, without its tax. Only the percentage part is rounded, half up."""
    total = _share(amount, rule.basis_points) + _fixed_part(rule, amount)
    return total if rule.cap is None else min(total, rule.cap)


def charge(rule: FeeRule, amount: int) -> Charge:
    """Apply a rule to outgoing money, to which the charge is added.

    >>> duty = FeeRule(stamp_duty=5_000, stamp_duty_from=1_000_000)
    >>> [charge(duty, amount).stamp_duty for amount in (999_999, 1_000_000)]
    [0, 5000]
    """
    duty = rule.stamp_duty if amount >= rule.stamp_duty_from else 0
    return replace(_taxed(rule, fee(rule, amount)), stamp_duty=duty)


def withheld_charge(rule: FeeRule, amount: int) -> Charge:
    """Apply a rule to incoming money, from which the charge is withheld.

    It never exceeds the amount: a fee that would is the largest one that leaves its tax.

    >>> withheld_charge(FeeRule(fixed=10_000, tax_basis_points=750), 100)
    Charge(fee=93, tax=7, stamp_duty=0)
    """
    most = (amount * WHOLE + WHOLE // 2 - 1) // (WHOLE + rule.tax_basis_points)
    return _taxed(rule, min(fee(rule, amount), most))


def _taxed(rule: FeeRule, net: int) -> Charge:
    return Charge(net, _share(net, rule.tax_basis_points))


def _share(amount: int, basis_points: int) -> int:
    """Return a share of an amount, rounded half up."""
    return (amount * basis_points + WHOLE // 2) // WHOLE


def _fixed_part(rule: FeeRule, amount: int) -> int:
    if amount < rule.fixed_waived_below:
        return 0
    return next((price for limit, price in rule.steps if amount <= limit), rule.fixed)


def without_duty(snapshot: Snapshot) -> Snapshot:
    """Return the rule of what is exempt from stamp duty."""
    return {name: value for name, value in snapshot.items() if not name.startswith("stamp_duty")}


def flow_of(request_type: str, method: str) -> Flow:
    """Return the flow whose fee applies to a transaction.

    >>> flow_of("payment", "card"), flow_of("payout", "bank")
    (<Flow.CARD: 'card'>, <Flow.PAYOUT: 'payout'>)
    """
    return Flow(method if request_type == "payment" else request_type)
