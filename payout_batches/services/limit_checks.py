"""Compare a batch with the limits of payouts: what it uses of each, and which items would be over one.

Only a warning: the limits are counted again, under their lock, when each item is sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from payments.models import PayoutControls
from payments.services.payouts.controls import payout_limits
from payments.services.payouts.controls.payout_limits import Ordered, Usage
from payout_batches.models import PayoutBatch, PayoutBatchItem

State = PayoutBatchItem.State


@dataclass(slots=True)
class _Planned:
    """What the items before one take of the limits. Amounts are minor units."""

    number: int = 0
    amount: int = 0
    by_account: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, ordered: Ordered) -> None:
        self.number += 1
        self.amount += ordered.amount
        self.by_account[ordered.bank_code, ordered.account_number] += ordered.amount

    def of(self, name: str, ordered: Ordered) -> int:
        to_account = self.by_account[ordered.bank_code, ordered.account_number]
        return {
            "per_payout": 0,
            "per_day": self.amount,
            "number_per_day": self.number,
            "per_beneficiary_and_day": to_account,
            "new_beneficiaries": to_account,
        }[name]


class _UsageWithPlanned(Usage):
    def __init__(self, ordered: Ordered, planned: _Planned, *, now: datetime) -> None:
        super().__init__(ordered, now=now)
        self._planned = planned

    def of(self, name: str) -> tuple[int, datetime | None]:
        used, ends_at = super().of(name)
        return used + self._planned.of(name, self._ordered), ends_at


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """How much of a limit is used once a batch is sent: minor units, or payouts of `number_per_day`."""

    name: str
    used: int
    limit: int

    @property
    def per_cent(self) -> int:
        return min(100, self.used * 100 // self.limit) if self.limit else 100


def uses(
    batch: PayoutBatch,
    items: Sequence[PayoutBatchItem],
    *,
    new_accounts: Collection[tuple[str, str]],
    controls: PayoutControls | None,
    now: datetime,
) -> list[LimitUse]:
    """Return what a batch uses of the limits, beside what is used on its day.

    `new_accounts` are those that were never paid before. Limits per beneficiary are left out: rows over one are marked.
    """
    limits = payout_limits.lowest_of(controls, batch.currency) if controls else {}
    if not limits or not items:
        return []
    largest = max(items, key=lambda item: item.amount)
    usage = Usage(_ordered(batch, largest), now=max(now, batch.run_at or now))
    planned, of_new = _Planned(), Counter[tuple[str, str]]()
    for item in items:
        planned.add(_ordered(batch, item))
    for account in new_accounts:
        of_new[account] = planned.by_account[account]
    used = {
        "per_day": lambda: usage.of("per_day")[0] + planned.amount,
        "number_per_day": lambda: usage.of("number_per_day")[0] + planned.number,
        "per_payout": lambda: largest.amount,
        "new_beneficiaries": lambda: max(of_new.values(), default=0),
    }
    return [LimitUse(name=name, used=used[name](), limit=limits[name]) for name in used if name in limits]


def _ordered(batch: PayoutBatch, item: PayoutBatchItem) -> Ordered:
    return Ordered(
        business=batch.business,
        amount=item.amount,
        currency=item.currency,
        account_number=item.account_number,
        bank_code=item.bank_code,
    )


def over_limits(batch: PayoutBatch, items: Iterable[PayoutBatchItem], *, now: datetime) -> dict[str, str]:
    """Return which limit the items are over when the batch is sent, in words, by their references."""
    controls = PayoutControls.objects.filter(business=batch.business_id).first()
    if controls is None:
        return {}
    limits = (
        payout_limits.caps_of(controls, batch.currency),
        payout_limits.limits_of(controls, batch.currency),
    )
    if not any(limits):
        return {}
    sent_at = max(now, batch.run_at or now)
    planned, found = _Planned(), {}
    for item in items:
        ordered = _ordered(batch, item)
        usage = _UsageWithPlanned(ordered, planned, now=sent_at)
        reached = [over for each in limits if (over := payout_limits.reached(each, ordered, usage))]
        if reached:
            found[item.reference] = reached[0].described(item.currency)
        if not reached or controls.ask_instead:
            planned.add(ordered)
    return found
