"""The strip of figures of the overview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.urls import reverse

from dashboard.ui.components.figures import (
    NO_PAST,
    Figure,
    change_of_count,
    change_of_level,
    change_of_rate,
    change_of_sum,
    percent,
)
from kit.money.money import figures, money
from kit.money.shares import per_mille
from ledger.services import Balance


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
    def success_rate(self) -> int | None:
        """Return the share of finished payments that succeeded, in per mille. None if none is finished."""
        return per_mille(self.succeeded, self.finished) if self.finished else None


def figures_of(
    now: Figures,
    *,
    past: Figures | None,
    balances: Sequence[Balance],
    available_before: Mapping[str, int],
    currency: str,
    since: date,
) -> list[Figure]:
    """Return the figures of a period. `past` is the period before it, if its totals are known.

    `available_before` has the balance of each currency before the period, if money was booked before it.
    """
    return [
        _volume(now, past, currency=currency, since=since),
        _payments(now, past, since=since),
        _success_rate(now, past, since=since),
        _balance(balances, available_before.get(currency), currency=currency),
    ]


def _volume(now: Figures, past: Figures | None, *, currency: str, since: date) -> Figure:
    amount = dict(now.volume).get(currency, 0)
    others = [money(value, other) for other, value in now.volume if other != currency]
    return Figure(
        name="Volume",
        currency=currency,
        value=figures(amount, currency),
        address=_payments_address(since, status="success"),
        change=change_of_sum(amount, dict(past.volume).get(currency, 0), currency) if past else NO_PAST,
        note=f"also {' and '.join(others)}" if others else "",
    )


def _payments(now: Figures, past: Figures | None, *, since: date) -> Figure:
    return Figure(
        name="Payments",
        value=f"{now.payments:,}",
        address=_payments_address(since),
        change=change_of_count(now.payments, past.payments) if past else NO_PAST,
        note=f"{now.pending:,} pending, {now.failed:,} failed",
    )


def _success_rate(now: Figures, past: Figures | None, *, since: date) -> Figure:
    return Figure(
        name="Success rate",
        value=percent(now.success_rate),
        address=_payments_address(since, status="failed"),
        change=change_of_rate(now.success_rate, past.success_rate) if past else NO_PAST,
        note=f"{now.succeeded:,} of {now.finished:,} succeeded",
    )


def _balance(balances: Sequence[Balance], before: int | None, *, currency: str) -> Figure:
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
        change=NO_PAST if before is None else change_of_level(first.available, before, currency),
        note=" and ".join([pending, *(money(each.available, each.currency) for each in others)]),
    )


def _payments_address(since: date, *, status: str = "") -> str:
    query = f"status={status}&since={since}" if status else f"since={since}"
    return f"{reverse('dashboard-payments')}?{query}"
