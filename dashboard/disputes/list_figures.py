"""What stands above the list of disputes: what needs a response, what is held, how many were won, and how many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count as CountRows
from django.db.models import Q, Sum
from django.urls import reverse

from dashboard.ui.components.charts import DAY
from dashboard.ui.components.figures import (
    NO_PAST,
    NO_PERIOD,
    NOTHING,
    Change,
    Figure,
    change_by,
    change_of_rate,
    percent,
)
from dashboard.ui.lists.bounded_totals import MOST_COUNTED
from disputes.models import Dispute, DisputeQuerySet
from kit.money.money import figures, money
from kit.money.shares import per_mille, rounded_share
from kit.text.plurals import counted
from kit.time.time_ordered_ids import earliest_id
from kit.time.time_zones import day_begins
from merchants.models import Business
from payments.models import Transaction
from payments.rules.words.dispute_words import FOR_THE_BUSINESS, OPEN, Stage, Status
from payments.services.reporting.daily_totals import tallies

WON_WITHIN, RATED = 90 * DAY, 30 * DAY  # each compared with as many days before
# Open disputes of a status, stage and currency: their number, and the sum of their amounts.
OpenDisputes = tuple[str, str, str, int, int]


def figures_of(business: Business, *, now: datetime) -> list[Figure]:
    """Return the figures, or none without open and recent disputes. Of those that ended, reads a limited number."""
    mine = Dispute.objects.of(business)
    groups = mine.open().values_list("status", "stage", "currency")
    is_open: list[OpenDisputes] = list(groups.annotate(CountRows("pk"), Sum("amount")))
    begins = day_begins(now.astimezone(business.zone).date() + DAY - RATED, business.zone)
    numbers = _numbers(mine, begins, now=now)
    if not is_open and not numbers["ended"]:
        return []
    payments = _card_payments(business, begins, now=now) if _is_complete(numbers) else (0, 0)
    return [*_sums(is_open), _won(numbers), _rate(numbers, payments)]


def _numbers(mine: DisputeQuerySet, begins: datetime, *, now: datetime) -> Mapping[str, int]:
    """Count the recent disputes: how many ended and were won, and how many cases began."""
    lately, rated = Q(pk__gte=earliest_id(now - WON_WITHIN)), Q(pk__gte=earliest_id(begins))
    before = Q(pk__gte=earliest_id(begins - RATED)) & ~rated
    ended, won, is_case = ~Q(status__in=OPEN), Q(status__in=FOR_THE_BUSINESS), Q(previous=None)
    recent = mine.filter(pk__gte=earliest_id(now - 2 * WON_WITHIN)).order_by("-pk")[: MOST_COUNTED + 1]
    wanted = {
        "all": Q(),
        "ended": ended & lately,
        "won": won & lately,
        "ended_before": ended & ~lately,
        "won_before": won & ~lately,
        "cases": is_case & rated,
        "cases_before": is_case & before,
    }
    counts: dict[str, Any] = {name: CountRows("pk", filter=each) for name, each in wanted.items()}
    return recent.aggregate(**counts)


def _card_payments(business: Business, begins: datetime, *, now: datetime) -> tuple[int, int]:
    """Return how many card payments succeeded since a time, and in as many days before."""
    first = begins.astimezone(business.zone).date()
    found = Counter[bool]()
    for each in tallies(business, first=first - RATED, last=now.astimezone(business.zone).date()):
        if each.method == Transaction.Method.CARD and each.status == Transaction.Status.SUCCESS:
            found[each.day >= first] += each.count * (each.request_type == Transaction.RequestType.PAYMENT)
    return found[True], found[False]


def _sums(is_open: Iterable[OpenDisputes]) -> Iterator[Figure]:
    waiting = [each for each in is_open if each[0] == Status.NEEDS_RESPONSE]
    held = [each for each in is_open if each[1] != Stage.INQUIRY]
    yield _sum("Needs a response", waiting, f"{reverse('dashboard-disputes')}?status=needs_response")
    yield _sum("Held", held, reverse("dashboard-balance"))


def _sum(name: str, groups: Iterable[OpenDisputes], address: str) -> Figure:
    """Return the sum by currency."""
    number, totals = 0, Counter[str]()
    for _, _, currency, count, amount in groups:
        number += count
        totals[currency] += int(amount)
    only = next(iter(totals)) if len(totals) == 1 else ""
    sums = ", ".join(money(total, currency) for currency, total in sorted(totals.items())) or "None"
    return Figure(
        name=name,
        currency=only,
        value=figures(totals[only], only) if only else sums,
        note=counted(number, "dispute"),
        address=address,
        change=NO_PERIOD,
    )


def _won(numbers: Mapping[str, int]) -> Figure:
    won, ended = numbers["won"], numbers["ended"]
    rate = per_mille(won, ended) if ended else None
    past = numbers["ended_before"] if _is_complete(numbers) else 0
    return Figure(
        name="Won, last 90 days",
        value=percent(rate),
        note=f"{won:,} of {ended:,} that ended" if ended else "None ended",
        address=f"{reverse('dashboard-disputes')}?status=won",
        change=change_of_rate(rate, per_mille(numbers["won_before"], past)) if past else NO_PAST,
    )


def _rate(numbers: Mapping[str, int], payments: tuple[int, int]) -> Figure:
    """Return how many of 1,000 card payments are disputed: the cases of 30 days for the payments of these days.

    Payments are counted only if all cases are.
    """
    is_known = payments[0] > 0
    rate = _tenths(numbers["cases"], payments[0]) if is_known else 0
    past = _tenths(numbers["cases_before"], payments[1]) if is_known and payments[1] else None
    return Figure(
        name="Disputes per 1,000",
        value=f"{rate / 10:,.1f}" if is_known else NOTHING,
        note="card payments, last 30 days",
        address=reverse("dashboard-disputes"),
        change=NO_PAST if past is None else _change_of_disputes(rate, past),
    )


def _change_of_disputes(now: int, before: int) -> Change:
    """Compare rates in tenths. More disputes are bad."""
    change = now - before
    return change_by(change, f"{abs(change) / 10:,.1f}", f"{before / 10:,.1f}", is_more_good=False)


def _tenths(cases: int, payments: int) -> int:
    """Return how many cases 1,000 payments have, in tenths.

    >>> _tenths(41, 10_000), _tenths(1, 3)
    (41, 3333)
    """
    return rounded_share(10 * cases, payments)


def _is_complete(numbers: Mapping[str, int]) -> bool:
    return numbers["all"] <= MOST_COUNTED
