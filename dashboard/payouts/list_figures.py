"""The figures above the list of payouts, each compared with the days before. They don't depend on filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from django.db.models import Subquery, Sum
from django.urls import reverse

from dashboard.ui.balances import accounts_since, balances_before
from dashboard.ui.components.charts import DAY
from dashboard.ui.components.figures import NO_PAST, Change, Figure, change_of_level, change_of_sum
from dashboard.ui.lists.bounded_totals import MOST_COUNTED
from kit.money.money import figures
from kit.text.plurals import counted
from ledger.models import Account
from ledger.services import Kind
from merchants.models import Business
from payments.models import Transaction
from payments.services.reporting.daily_totals import tallies

DAYS = 30  # of the sum, and of the time before it
BALANCES = (Kind.PAYOUTS_IN_FLIGHT, Kind.WALLET)


def figures_of(business: Business, *, now: datetime) -> list[Figure]:
    """Return the figures of the currency in which most is paid out; none for a business without payouts."""
    today = now.astimezone(business.zone).date()
    since = today - (DAYS - 1) * DAY
    sent, sent_before, count, count_before = _sent(business, since=since, today=today)
    accounts = accounts_since(business, since, *BALANCES, **_fees(business, sent, count, count_before))
    held = {(each.kind, each.currency): each.balance for each in accounts}
    in_flight = Counter(
        {each.currency: each.balance for each in accounts if each.kind == Kind.PAYOUTS_IN_FLIGHT}
    )
    most = (sent or sent_before or +in_flight).most_common(1)
    if not most:
        return []
    currency = most[0][0]
    return [
        Figure(
            name=f"Sent, last {DAYS} days",
            currency=currency,
            value=figures(sent[currency], currency),
            address=f"{reverse('dashboard-payouts')}?status=success&since={since}",
            change=change_of_sum(sent[currency], sent_before[currency], currency),
            note=counted(count[currency], "payout"),
        ),
        *_fee_figure(accounts, currency, sent[currency]),
        *(
            Figure(
                name=name,
                currency=currency,
                value=figures(held.get((kind, currency), 0), currency),
                address=address,
                change=_change(
                    kind, held.get((kind, currency), 0), balances_before(accounts, kind), currency
                ),
            )
            for kind, name, address in (
                (Kind.PAYOUTS_IN_FLIGHT, "On their way", f"{reverse('dashboard-payouts')}?status=pending"),
                (Kind.WALLET, "Available balance", f"{reverse('dashboard-balance')}?currency={currency}"),
            )
        ),
    ]


def _fees(
    business: Business, sent: Counter[str], count: Counter[str], count_before: Counter[str]
) -> dict[str, Subquery]:
    """Return the fees of the payouts that were sent, and of those before, unless there are too many to read.

    They are of the main currency.
    """
    currency = next(iter(sent.most_common(1)), ("", 0))[0]
    lately, both = count[currency], count[currency] + count_before[currency]
    if not 0 < lately <= both <= MOST_COUNTED:
        return {}
    mine = Transaction.objects.of(business).filter(
        request_type=Transaction.RequestType.PAYOUT, status=Transaction.Status.SUCCESS, currency=currency
    )
    newest = mine.order_by("-pk").values("pk")
    found = {"fees": _sum_of_fees(newest[:lately])}
    return {**found, "fees_before": _sum_of_fees(newest[lately:both])} if both > lately else found


def _sum_of_fees(payouts: Any) -> Subquery:
    fees = Transaction.objects.filter(pk__in=payouts).order_by().values("business").annotate(sum=Sum("fee"))
    return Subquery(fees.values("sum"))


def _fee_figure(accounts: Sequence[Account], currency: str, sent: int) -> Iterator[Figure]:
    fees, before = (
        next((getattr(each, name, None) for each in accounts), None) for name in ("fees", "fees_before")
    )
    if fees is not None and sent:
        yield Figure(
            name=f"Fees, last {DAYS} days",
            currency=currency,
            value=figures(fees, currency),
            address=reverse("dashboard-invoices"),
            change=change_of_sum(fees, before or 0, currency, is_good=False),
            note=f"{fees / sent:.2%} of what was sent",
        )


def _sent(business: Business, *, since: date, today: date) -> Sequence[Counter[str]]:
    """Return what was paid out in each currency since a day and in as many days before, and both numbers of payouts."""
    sent, before, count, count_before = (Counter[str]() for _ in range(4))
    for each in tallies(business, first=since - DAYS * DAY, last=today):
        if (each.request_type, each.status) != (Transaction.RequestType.PAYOUT, Transaction.Status.SUCCESS):
            continue
        if each.day >= since:
            sent[each.currency] += each.volume
            count[each.currency] += each.count
        else:
            before[each.currency] += each.volume
            count_before[each.currency] += each.count
    return sent, before, count, count_before


def _change(kind: Kind, now: int, before: Mapping[str, int], currency: str) -> Change:
    """Compare a balance. More money on its way is neither good nor bad."""
    if currency not in before:
        return NO_PAST
    return change_of_level(now, before[currency], currency, is_good=kind == Kind.WALLET)
