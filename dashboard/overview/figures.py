"""The strip of figures of the overview. Each links to what it counts, and says how it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.urls import reverse

from kit.money.money import figures, money
from kit.money.shares import per_mille, rounded_share
from ledger.services import Balance

UP, DOWN = "up", "down"
NOTHING = "–"  # noqa: RUF001  (an en dash)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Totals of a period."""

    volume: Sequence[tuple[str, int]]  # captured amounts by currency, most frequent currency first
    payments: int  # in any state
    succeeded: int  # payments
    finished: int  # payments
    pending: int  # payments
    failed: int  # payments

    @property
    def success_rate(self) -> str:
        """Return the share of finished payments that succeeded, in percent. Empty if none is finished.

        >>> Figures(volume=[], payments=18, succeeded=12, finished=18, pending=0, failed=6).success_rate
        '66.7%'
        """
        return f"{self.per_mille / 10:.1f}%" if self.finished else ""

    @property
    def per_mille(self) -> int:
        return per_mille(self.succeeded, self.finished) if self.finished else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    name: str
    value: str
    address: str
    currency: str = ""
    change: str = ""
    direction: str = ""  # of the change: UP or DOWN
    note: str = ""


def figures_of(
    now: Figures, *, past: Figures | None, balances: Sequence[Balance], currency: str, since: date
) -> list[Figure]:
    """Return the figures of a period. `past` is the period before it, if its totals are known."""
    return [
        _volume(now, past, currency=currency, since=since),
        _payments(now, past, since=since),
        _success_rate(now, past, since=since),
        _balance(balances, currency=currency),
    ]


def _volume(now: Figures, past: Figures | None, *, currency: str, since: date) -> Figure:
    amount = dict(now.volume).get(currency, 0)
    before = dict(past.volume).get(currency, 0) if past else 0
    change = rounded_share(amount, before) - 1000 if before else 0
    others = [money(value, other) for other, value in now.volume if other != currency]
    return Figure(
        name="Volume",
        currency=currency,
        value=figures(amount, currency),
        address=_payments_address(since, status="success"),
        change=f"{_arrow(change)} {abs(change) / 10:.1f}%" if before and change else "",
        direction=_direction(change) if before else "",
        note=" and ".join(
            each for each in [f"from {money(before, currency)}" if before else "", *others] if each
        ),
    )


def _payments(now: Figures, past: Figures | None, *, since: date) -> Figure:
    before = past.payments if past else 0
    change = now.payments - before
    return Figure(
        name="Payments",
        value=f"{now.payments:,}",
        address=_payments_address(since),
        change=f"{_arrow(change)} {abs(change):,}" if before and change else "",
        direction=_direction(change) if before else "",
        note=f"from {before:,}" if before else f"{now.pending:,} pending, {now.failed:,} failed",
    )


def _success_rate(now: Figures, past: Figures | None, *, since: date) -> Figure:
    before = past.success_rate if past else ""
    change = now.per_mille - past.per_mille if past and before and now.finished else 0
    return Figure(
        name="Success rate",
        value=now.success_rate or NOTHING,
        address=_payments_address(since, status="failed"),
        change=f"{_arrow(change)} {abs(change) / 10:.1f} pts" if change else "",
        direction=_direction(change),
        note=f"from {before}" if before else f"{now.succeeded:,} of {now.finished:,} finished payments",
    )


def _balance(balances: Sequence[Balance], *, currency: str) -> Figure:
    first = next(
        (each for each in balances if each.currency == currency),
        Balance(currency=currency, available=0, pending=0),
    )
    others = [each for each in balances if each.currency != currency and each.available]
    pending = f"{money(first.pending, currency)} pending"
    return Figure(
        name="Available balance",
        currency=currency,
        value=figures(first.available, currency),
        address=f"{reverse('dashboard-balance')}?currency={currency}",
        note=" and ".join([pending, *(money(each.available, each.currency) for each in others)]),
    )


def _payments_address(since: date, *, status: str = "") -> str:
    query = f"status={status}&since={since}" if status else f"since={since}"
    return f"{reverse('dashboard-payments')}?{query}"


def _arrow(change: int) -> str:
    return "↑" if change > 0 else "↓"


def _direction(change: int) -> str:
    return "" if not change else UP if change > 0 else DOWN
