"""Limits of payouts: how much of each is used, counted under the lock of the business's controls.

Amounts without fees of payouts that have not failed count, per currency. Refunds, returns of unapplied money and our own
settlement payouts don't. A day is one of the business's time zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, Min, Q, QuerySet, Sum
from rest_framework import status

from kit.api.errors import Problem
from kit.money.money import money
from kit.time.time_ordered_ids import earliest_id
from kit.time.time_zones import day_begins
from kit.time.timestamps import timestamp
from merchants.models import Business
from payments.models import PayoutControls, PayoutLimitCheck, Transaction

NEW_FOR = timedelta(hours=24)  # how long an account is new, from its first payout
# The names of the limits as in `payout_limit_reached`, which are also columns of the controls.
AMOUNTS = ("per_payout", "new_beneficiaries", "per_beneficiary_and_day", "per_day")
NUMBER = "number_per_day"
NAMES = (*AMOUNTS, NUMBER)
LABELS = {
    "per_payout": "Per payout",
    "per_day": "Per day",
    "per_beneficiary_and_day": "Per beneficiary and day",
    "number_per_day": "Number per day",
    "new_beneficiaries": "New beneficiaries",
}
# Payouts that we order ourselves: `REFERENCE_PREFIXES` of requests are reserved.
OUR_OWN = Q(reference__startswith="return_") | Q(reference__startswith="settlement_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """What the limits count of a payout that is asked for. The amount is in minor units."""

    business: Business
    amount: int
    currency: str
    account_number: str
    bank_code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedLimit:
    """A limit that a payout is over. Amounts are minor units; of `number_per_day`, numbers of payouts."""

    name: str
    amount: int
    used: int
    ends_at: datetime | None  # None: it doesn't end

    @property
    def left(self) -> int:
        return max(self.amount - self.used, 0)

    def shown(self) -> dict[str, Any]:
        ends_at = None if self.ends_at is None else timestamp(self.ends_at)
        return {
            "name": self.name,
            "amount": self.amount,
            "used": self.used,
            "left": self.left,
            "ends_at": ends_at,
        }

    def described(self, currency: str) -> str:
        amounts = [
            str(number) if self.name == NUMBER else money(number, currency)
            for number in (self.amount, self.left)
        ]
        return f"The limit “{LABELS[self.name]}” is {amounts[0]}, of which {amounts[1]} is left."


class PayoutLimitReached(Problem):
    """The payout is over a limit of the business."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "payout_limit_reached"

    @classmethod
    def of(cls, limit: ReachedLimit, currency: str) -> PayoutLimitReached:
        return cls(f"{limit.described(currency)} Nothing was stored.", limit=limit.shown())


class Usage:
    """How much of the limits is used when a payout is asked for. Reads only what a limit needs."""

    def __init__(self, ordered: Ordered, *, now: datetime) -> None:
        self._ordered = ordered
        self._now = now
        zone = ordered.business.zone
        day = now.astimezone(zone).date()
        self.day_began_at, self.day_ends_at = day_begins(day, zone), day_begins(day + timedelta(days=1), zone)

    @cached_property
    def account_since(self) -> datetime | None:
        """Return when the first payout to the account was asked for, now if this is the first; None if it isn't new."""
        first = self._to_account(counted(self._ordered.business)).aggregate(at=Min("created_at"))["at"]
        if first is None:
            return self._now
        return first if self._now < first + NEW_FOR else None

    def of(self, name: str) -> tuple[int, datetime | None]:
        """Return what is used of a limit, and when that ends."""
        if name == "per_payout":
            return 0, None
        if name == "new_beneficiaries":
            return self._in_first_hours()
        return self._of_day[name], self.day_ends_at

    @cached_property
    def _of_day(self) -> Mapping[str, int]:
        business, own = self._ordered.business, Q(currency=self._ordered.currency)
        today = counted(business).filter(
            id__gte=earliest_id(self.day_began_at),
            created_at__gte=self.day_began_at,
            created_at__lt=self.day_ends_at,
        )
        to_account = Q(account_number=self._ordered.account_number, bank_code=self._ordered.bank_code)
        sums: dict[str, int | None] = today.aggregate(
            per_day=Sum("amount", filter=own),
            per_beneficiary_and_day=Sum("amount", filter=own & to_account),
            number_per_day=Count("pk"),
        )
        return {name: value or 0 for name, value in sums.items()}

    def _in_first_hours(self) -> tuple[int, datetime | None]:
        since = self.account_since
        if since is None:
            raise ValueError("the account isn't new")
        made = self._to_account(counted(self._ordered.business)).filter(currency=self._ordered.currency)
        return made.aggregate(sum=Sum("amount"))["sum"] or 0, since + NEW_FOR

    def _to_account(self, payouts: QuerySet[Transaction]) -> QuerySet[Transaction]:
        return payouts.filter(account_number=self._ordered.account_number, bank_code=self._ordered.bank_code)


def limits_of(controls: PayoutControls, currency: str) -> dict[str, int]:
    """Return the limits that owners have set, by their names."""
    return _in_currency({name: getattr(controls, name) for name in NAMES}, currency)


def caps_of(controls: PayoutControls, currency: str) -> dict[str, int]:
    """Return the limits that staff have set, by their names."""
    return _in_currency(controls.caps, currency)


def lowest_of(controls: PayoutControls, currency: str) -> dict[str, int]:
    """Return the limits that apply, by their names: the lower one of the owners' and the staff's."""
    limits, caps = limits_of(controls, currency), caps_of(controls, currency)
    return caps | {name: min(limit, caps.get(name, limit)) for name, limit in limits.items()}


def left_of_day(business: Business, limits: Mapping[str, int], currency: str, *, now: datetime) -> int | None:
    """Return what is left of the limit per day, in minor units; None without one."""
    if "per_day" not in limits:
        return None
    any_payout = Ordered(business=business, amount=0, currency=currency, account_number="", bank_code="")
    used, _ = Usage(any_payout, now=now).of("per_day")
    return max(limits["per_day"] - used, 0)


def reached(limits: Mapping[str, int], ordered: Ordered, usage: Usage) -> ReachedLimit | None:
    """Return the first limit that a payout would be over, or None."""
    return next(_reached(limits, ordered, usage), None)


def _reached(limits: Mapping[str, int], ordered: Ordered, usage: Usage) -> Iterator[ReachedLimit]:
    for name in NAMES:
        if name not in limits or (name == "new_beneficiaries" and usage.account_since is None):
            continue
        used, ends_at = usage.of(name)
        if used + (1 if name == NUMBER else ordered.amount) > limits[name]:
            yield ReachedLimit(name=name, amount=limits[name], used=used, ends_at=ends_at)


def check_of(
    payout: Transaction, limits: Mapping[str, int], usage: Usage, *, is_over: bool
) -> PayoutLimitCheck:
    """Return the row that says under which limits a payout was accepted."""
    of_new = usage.account_since if "new_beneficiaries" in limits else None
    found = {name: limits.get(name) for name in NAMES}
    if of_new is None:
        found["new_beneficiaries"] = None
    return PayoutLimitCheck(
        transaction=payout,
        business=payout.business,
        currency=payout.currency,
        day_began_at=usage.day_began_at,
        account_since=of_new,
        is_over=is_over,
        **found,
    )


def counted(business: Business) -> QuerySet[Transaction]:
    """Return the payouts of a business that limits count: it ordered them, and they have not failed."""
    payouts = Transaction.objects.of(business).filter(request_type=Transaction.RequestType.PAYOUT)
    return payouts.exclude(status=Transaction.Status.FAILED).exclude(OUR_OWN)


def _in_currency(values: Mapping[str, Any], currency: str) -> dict[str, int]:
    found = {
        name: value.get(currency) if isinstance(value, Mapping) else value for name, value in values.items()
    }
    return {name: value for name, value in found.items() if value is not None}
