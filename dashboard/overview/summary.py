"""The figures of the overview page, read with a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, Exists, Min, Q, QuerySet, Subquery

from dashboard.ui.charts import Column, ColumnChart, columns
from kit.money import money
from kit.plurals import counted
from ledger.services import Balance, balances
from merchants.models import ApiKey, Business
from payments import outcomes
from payments.models import Transaction
from payments.services.reporting.daily_totals import Tally, tallies
from webhooks.models import Delivery, Endpoint

PERIOD = timedelta(days=30)
DAY = timedelta(days=1)
RECENT = 10
DECLINES_SHOWN = 6
RANGES = (7, 30, 90)  # days
KEYS_SHOWN = 5

PAYMENT = Transaction.RequestType.PAYMENT
MOVES_MONEY = (PAYMENT, Transaction.RequestType.PAYOUT)
STATUS = Transaction.Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Totals of a period."""

    volume: Sequence[tuple[str, int]]  # captured amounts by currency, most frequent currency first
    succeeded: int  # payments
    finished: int  # payments
    pending: int  # payments and payouts
    failed: int  # payments and payouts

    @property
    def success_rate(self) -> str:
        """Return the share of finished payments that succeeded, rounded down: never 100 % if one failed.

        >>> Figures(volume=[], succeeded=1999, finished=2000, pending=0, failed=1).success_rate
        '99.9 %'
        """
        return f"{self.succeeded * 1000 // self.finished / 10:.1f} %" if self.finished else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookHealth:
    """The endpoint, and counts of its recent deliveries."""

    endpoint: Endpoint | None
    delivered: int  # of the last day
    failed: int  # of the last day: dead, or waiting for a retry
    due_since: datetime | None  # of the delivery that is most overdue
    waiting: int
    held: int
    dead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSteps:
    """The setup checklist of a new business."""

    has_called: bool
    has_paid: bool
    has_webhook: bool
    has_delivered: bool

    @property
    def all_done(self) -> bool:
        return self.has_called and self.has_paid and self.has_webhook and self.has_delivered


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    figures: Figures
    volume_chart: ColumnChart
    declines: Sequence[Decline]
    balances: Sequence[Balance]
    alerts: Sequence[str]
    currency: str  # of the chart
    recent: Sequence[Transaction]
    webhook: WebhookHealth
    keys: Sequence[ApiKey]
    first_steps: FirstSteps

    @property
    def volume_top(self) -> str:
        return money(self.volume_chart.top, self.currency)


def overview_of(business: Business, *, days: int = 30, now: datetime) -> Overview:
    rows = tallies(business, days=days, now=now)
    figures = _figures(rows)
    currency = figures.volume[0][0] if figures.volume else next(iter(business.currencies), "NGN")
    recent = list(_transactions(business).order_by("-id")[:RECENT])
    activity = _activity(business, now=now)
    webhook = _webhook_health(business, delivered=activity.delivered_lately, now=now)
    return Overview(
        figures=figures,
        volume_chart=_volume_chart(rows, currency=currency, days=days, now=now),
        declines=_declines(rows),
        balances=balances(business),
        alerts=_alerts(webhook),
        currency=currency,
        recent=recent,
        webhook=webhook,
        keys=_usable_keys(business, now=now),
        first_steps=FirstSteps(
            has_called=activity.has_called,
            has_paid=activity.has_paid,
            has_webhook=webhook.endpoint is not None,
            has_delivered=activity.has_delivered,
        ),
    )


def _transactions(business: Business) -> QuerySet[Transaction]:
    mine: QuerySet[Transaction] = Transaction.objects.of(business)
    return mine


def _figures(rows: Sequence[Tally]) -> Figures:
    payments = [row for row in rows if row.request_type == PAYMENT]
    moving = [row for row in rows if row.request_type in MOVES_MONEY]
    succeeded = _total(payments, STATUS.SUCCESS)
    return Figures(
        volume=_volume(payments),
        succeeded=succeeded,
        finished=succeeded + _total(payments, STATUS.FAILED),
        pending=_total(moving, STATUS.PENDING),
        failed=_total(moving, STATUS.FAILED),
    )


def _total(rows: Sequence[Tally], status: str) -> int:
    return sum(row.count for row in rows if row.status == status)


def _volume(payments: Sequence[Tally]) -> list[tuple[str, int]]:
    """Return the captured amount in each currency, most frequent currency first."""
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for row in payments:
        if row.status == STATUS.SUCCESS:
            counts[row.currency] += row.count
            sums[row.currency] += row.volume
    return [
        (currency, sums[currency])
        for currency, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    ]


SUMMARIES = {
    outcome.code: outcome.summary.removeprefix("Declined - ") for outcome in outcomes.CARD_DECLINES
} | {
    "20051": "Insufficient funds",
    "20013": "Amount mismatch",
    "20068": "Expired",
    "20090": "Voided",
    "20091": "Cancelled",
}
METHODS = (Transaction.Method.CARD, Transaction.Method.VIRTUAL_ACCOUNT)


def _volume_chart(rows: Sequence[Tally], *, currency: str, days: int, now: datetime) -> ColumnChart:
    """Chart the volume of each day, cards below transfers."""
    by_day: Counter[tuple[date, str]] = Counter()
    for row in rows:
        if row.request_type == PAYMENT and row.status == STATUS.SUCCESS and row.currency == currency:
            by_day[row.day, row.method] += row.volume
    first = now.date() - timedelta(days=days - 1)
    found = []
    for day in (first + timedelta(days=place) for place in range(days)):
        values = tuple(by_day[day, method] for method in METHODS)
        card, transfer = (money(value, currency) for value in values)
        tooltip = f"{day:%-d %b}: {card} by card, {transfer.removeprefix(currency).strip()} by transfer"
        found.append(Column(f"{day:%-d %b}", values, tooltip))
    return columns(found)


@dataclass(frozen=True, slots=True)
class Decline:
    """The number of payments that failed with one code."""

    code: str
    summary: str
    count: int
    share: int  # percentage of the most frequent code's count, for a bar


def _declines(rows: Sequence[Tally]) -> list[Decline]:
    counts: Counter[str] = Counter()
    for row in rows:
        if row.request_type == PAYMENT and row.status == STATUS.FAILED:
            counts[row.response_code] += row.count
    most = counts.most_common(DECLINES_SHOWN)
    return [Decline(code, SUMMARIES.get(code, ""), count, count * 100 // most[0][1]) for code, count in most]


def _alerts(webhook: WebhookHealth) -> list[str]:
    """Return the warnings to show."""
    found = []
    if webhook.dead:
        subject = counted(webhook.dead, "delivery has", "deliveries have")
        found.append(f"{subject} failed. Check your endpoint, then resend.")
    if webhook.held:
        subject = counted(webhook.held, "delivery is", "deliveries are")
        found.append(f"{subject} held because your endpoint is disabled.")
    return found


def _webhook_health(business: Business, *, delivered: int, now: datetime) -> WebhookHealth:
    undelivered = Delivery.objects.without_tests().filter(
        business=business,
        state__in=[Delivery.State.WAITING, Delivery.State.HELD, Delivery.State.DEAD],
        created_at__gte=now - PERIOD,
    )
    was_attempted = Q(created_at__gte=now - DAY) & (Q(attempts_made__gt=0) | Q(manual_attempts__gt=0))
    found = undelivered.values_list("state").annotate(
        count=Count("id"), failed=Count("id", filter=was_attempted), next=Min("next_attempt_at")
    )
    states = {state: (count, next_at) for state, count, _, next_at in found}
    waiting, next_at = states.get(Delivery.State.WAITING, (0, None))
    return WebhookHealth(
        endpoint=Endpoint.objects.filter(business=business).defer("hash_key").first(),
        delivered=delivered,
        failed=sum(failed for _, _, failed, _ in found),
        due_since=next_at if next_at and next_at <= now else None,
        waiting=waiting,
        held=states.get(Delivery.State.HELD, (0, None))[0],
        dead=states.get(Delivery.State.DEAD, (0, None))[0],
    )


@dataclass(frozen=True, slots=True)
class _Activity:
    has_called: bool
    has_paid: bool
    has_delivered: bool
    delivered_lately: int


def _activity(business: Business, *, now: datetime) -> _Activity:
    """Return what the business has done so far, in one query."""
    delivered = Delivery.objects.filter(business=business, state=Delivery.State.DELIVERED)
    lately = delivered.without_tests().filter(created_at__gte=now - DAY).order_by().values("business")
    called, paid, was_delivered, count = (
        Business.objects.filter(pk=business.pk)
        .values_list(
            Exists(_keys(business).filter(last_used_at__isnull=False)),
            Exists(_transactions(business).filter(request_type=PAYMENT)),
            Exists(delivered),
            Subquery(lately.annotate(count=Count("id")).values("count")),
        )
        .get()
    )
    return _Activity(called, paid, was_delivered, count or 0)


def _keys(business: Business) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(business=business).defer("secret")


def _usable_keys(business: Business, *, now: datetime) -> Sequence[ApiKey]:
    usable: QuerySet[ApiKey] = ApiKey.objects.usable(at=now).filter(business=business).defer("secret")
    return list(usable.order_by("-created_at", "-pk")[:KEYS_SHOWN])
