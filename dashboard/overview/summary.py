"""The figures of the overview page, read with a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any

from django.db.models import Count, Exists, Min, QuerySet, Subquery, UUIDField
from django.db.models.functions import Coalesce

from dashboard.overview import endpoint_panel
from dashboard.overview.attention import (
    FALLEN,
    Waiting,
    attention,
    expiring_authorisations,
    fallen_rates,
    unanswered_disputes,
    unapproved_settlements,
)
from dashboard.overview.endpoint_panel import EndpointPanel
from dashboard.overview.figures import Figures, figures_of
from dashboard.overview.volume_chart import DayVolume, VolumeChart, volume_chart
from dashboard.ui.balances import accounts_since, balances_before
from dashboard.ui.components.charts import DAY
from dashboard.ui.components.figures import Figure
from dashboard.ui.components.todo import Item
from ledger.services import BALANCE_KINDS, Kind, balances_of
from merchants.models import ApiKey, Business
from payments.models import PaymentLink, Transaction
from payments.rules import outcomes
from payments.rules.words.status_names import outcome_name
from payments.services.payouts.controls import approvals
from payments.services.reporting.daily_totals import LONGEST, Tally, tallies
from webhooks.models import Delivery

RECENT = 6
DECLINES_SHOWN = 5
RANGES = (7, 30, 90)  # days
KEYS_READ = 50

PAYMENT = Transaction.RequestType.PAYMENT
STATUS = Transaction.Status


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSteps:
    """The setup checklist of a new business."""

    has_link: bool
    has_called: bool
    has_paid: bool
    has_webhook: bool
    has_delivered: bool

    @property
    def all_done(self) -> bool:
        return self.has_paid and self.has_called and self.has_webhook and self.has_delivered


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    attention: Sequence[Item]
    figures: Figures
    stats: Sequence[Figure]
    volume_chart: VolumeChart
    declines: Sequence[Decline]
    since: date  # the first day of the period, in the business's time zone
    currency: str  # of the chart
    recent: Sequence[Transaction]
    webhook: EndpointPanel
    keys: Sequence[ApiKey]
    first_steps: FirstSteps


def overview_of(business: Business, *, days: int = 30, now: datetime) -> Overview:
    today = now.astimezone(business.zone).date()
    since = today - (days - 1) * DAY
    has_past = 2 * days <= LONGEST
    rows = tallies(business, first=since - days * DAY if has_past else since, last=today)
    shown = [row for row in rows if row.day >= since]
    figures = _figures(shown)
    currency = figures.volume[0][0] if figures.volume else next(iter(business.currencies), "NGN")
    activity = _activity(business, now=now)
    webhook = endpoint_panel.panel_of(business, activity, now=now)
    keys = _usable_keys(business, now=now)
    accounts = accounts_since(business, since, *BALANCE_KINDS)
    return Overview(
        attention=attention(business, webhook=webhook, waiting=_waiting(activity), keys=keys, now=now),
        figures=figures,
        stats=figures_of(
            figures,
            past=_figures([row for row in rows if row.day < since]) if has_past else None,
            balances=balances_of(business, accounts),
            available_before=balances_before(accounts, Kind.WALLET),
            currency=currency,
            since=since,
        ),
        volume_chart=volume_chart(
            _volumes(rows, currency), days=days, today=today, currency=currency, has_past=has_past
        ),
        declines=_declines(shown),
        since=since,
        currency=currency,
        recent=list(_transactions(business).select_related("session__transfer").order_by("-id")[:RECENT]),
        webhook=webhook,
        keys=keys,
        first_steps=FirstSteps(
            has_link=activity["has_link"] or activity["has_paid"],  # the API needs no link
            has_called=activity["has_called"],
            has_paid=activity["has_paid"],
            has_webhook=webhook.url != "",
            has_delivered=activity["has_delivered"],
        ),
    )


def _transactions(business: Business) -> QuerySet[Transaction]:
    return Transaction.objects.of(business)


def _figures(rows: Sequence[Tally]) -> Figures:
    payments = [row for row in rows if row.request_type == PAYMENT]
    succeeded, failed = _total(payments, STATUS.SUCCESS), _total(payments, STATUS.FAILED)
    return Figures(
        volume=_volume(payments),
        payments=sum(row.count for row in payments),
        succeeded=succeeded,
        finished=succeeded + failed,
        pending=_total(payments, STATUS.PENDING),
        failed=failed,
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


SUMMARIES = {outcome.code: outcome_name(outcome.summary) for outcome in outcomes.CARD_DECLINES} | {
    "20051": "Insufficient funds",
    "20013": "Amount mismatch",
    "20068": "Expired",
    "20090": "Voided",
    "20091": "Cancelled",
}


def _volumes(rows: Sequence[Tally], currency: str) -> dict[date, DayVolume]:
    """Return the volume of each day in a currency."""
    found: dict[date, DayVolume] = {}
    for row in rows:
        if row.request_type == PAYMENT and row.status == STATUS.SUCCESS and row.currency == currency:
            is_card = row.method == Transaction.Method.CARD
            volume = DayVolume(
                card=row.volume if is_card else 0, transfer=0 if is_card else row.volume, count=row.count
            )
            found[row.day] = found.get(row.day, DayVolume()) + volume
    return found


@dataclass(frozen=True, slots=True)
class Decline:
    """The number of payments that failed with one code."""

    code: str
    summary: str  # empty for a code without a name
    count: int
    share: int  # percentage of the most frequent code's count, for a bar


def _declines(rows: Sequence[Tally]) -> list[Decline]:
    counts: Counter[str] = Counter()
    for row in rows:
        if row.request_type == PAYMENT and row.status == STATUS.FAILED:
            counts[row.response_code] += row.count
    most = counts.most_common(DECLINES_SHOWN)
    return [Decline(code, SUMMARIES.get(code, ""), count, count * 100 // most[0][1]) for code, count in most]


def _activity(business: Business, *, now: datetime) -> dict[str, Any]:
    """Return what the business has done so far, what waits for it, and its endpoint, in one query."""
    delivered = Delivery.objects.filter(business=business, state=Delivery.State.DELIVERED)
    expiring = expiring_authorisations(business, now=now).order_by().values("business")
    batches = unapproved_settlements(business).order_by().values("business")
    waiting = approvals.waiting(business).select_related(None)
    disputes = unanswered_disputes(business).order_by().values("business")
    fallen = fallen_rates(business).values("business")
    first_fallen = fallen_rates(business).order_by("began_at", "pk")
    found: Any = (
        Business.objects.filter(pk=business.pk)
        .values(
            has_link=Exists(PaymentLink.objects.filter(business=business)),
            has_called=Exists(_keys(business).filter(last_used_at__isnull=False)),
            has_paid=Exists(_transactions(business).filter(request_type=PAYMENT)),
            has_delivered=Exists(delivered),
            authorisations=Coalesce(Subquery(expiring.annotate(count=Count("id")).values("count")), 0),
            first_expiry=Subquery(expiring.annotate(first=Min("expires_at")).values("first")),
            settlements=Coalesce(Subquery(batches.annotate(count=Count("id")).values("count")), 0),
            first_day=Subquery(batches.annotate(first=Min("day")).values("first")),
            approvals=Coalesce(
                Subquery(waiting.order_by().values("business").annotate(count=Count("id")).values("count")),
                0,
            ),
            approval_until=Subquery(waiting.values("expires_at")[:1]),
            approval_batch=Subquery(waiting.values("batch")[:1], output_field=UUIDField()),
            approval_title=Subquery(waiting.values("batch__title")[:1]),
            approval_payout=Subquery(waiting.values("transaction")[:1], output_field=UUIDField()),
            approval_payee=Subquery(waiting.values("transaction__customer_name")[:1]),
            disputes=Coalesce(Subquery(disputes.annotate(count=Count("id")).values("count")), 0),
            first_dispute=Subquery(unanswered_disputes(business).order_by("pk").values("pk")[:1]),
            respond_by=Subquery(disputes.annotate(first=Min("respond_by")).values("first")),
            fallen_rates=Coalesce(Subquery(fallen.annotate(count=Count("pk")).values("count")), 0),
            **{f"fallen_{name}": Subquery(first_fallen.values(name)[:1]) for name in FALLEN},
            **endpoint_panel.columns(business, now=now),
        )
        .get()
    )
    first = {name: found[f"fallen_{name}"] for name in FALLEN}
    return {**found, "first_fallen": first if found["fallen_rates"] else None}


def _waiting(activity: Mapping[str, Any]) -> Waiting:
    return Waiting(**{each.name: activity[each.name] for each in fields(Waiting)})


def _keys(business: Business) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(business=business).defer("secret")


def _usable_keys(business: Business, *, now: datetime) -> Sequence[ApiKey]:
    usable = ApiKey.objects.usable(at=now).filter(business=business).defer("secret")
    return list(usable.order_by("-created_at", "-pk")[:KEYS_READ])
