"""What the overview tells of one business. Reads only, and a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, QuerySet, Sum

from merchants.models import ApiKey, Business
from payments.identifiers import earliest_id
from payments.models import Transaction
from webhooks.models import Delivery, Endpoint

PERIOD = timedelta(days=30)
RECENT = 20
KEYS_SHOWN = 10

PAYMENT = Transaction.RequestType.PAYMENT
MOVES_MONEY = (PAYMENT, Transaction.RequestType.PAYOUT)
STATUS = Transaction.Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A period in numbers."""

    volume: Sequence[tuple[str, int]]  # currency and what was captured in it, the busiest currency first
    succeeded: int  # payments
    finished: int  # payments
    pending: int  # payments and payouts
    failed: int  # payments and payouts

    @property
    def success_rate(self) -> str:
        """Return the share of finished payments that succeeded; never 100 % while one has failed.

        >>> Figures(volume=[], succeeded=1999, finished=2000, pending=0, failed=1).success_rate
        '99.9 %'
        """
        return f"{self.succeeded * 1000 // self.finished / 10:.1f} %" if self.finished else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookHealth:
    """How a business hears of outcomes, and what became of its recent deliveries."""

    endpoint: Endpoint | None
    delivered: int
    waiting: int
    held: int
    dead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSteps:
    """What a new business does one after the other; true once it has happened."""

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
    recent: Sequence[Transaction]
    webhook: WebhookHealth
    keys: Sequence[ApiKey]
    first_steps: FirstSteps


def overview_of(business: Business, *, now: datetime) -> Overview:
    recent = list(_transactions(business).order_by("-id")[:RECENT])
    webhook = _webhook_health(business, now=now)
    return Overview(
        figures=_figures(business, now=now),
        recent=recent,
        webhook=webhook,
        keys=_usable_keys(business, now=now),
        first_steps=FirstSteps(
            has_called=_keys(business).filter(last_used_at__isnull=False).exists(),
            has_paid=_transactions(business).filter(request_type=PAYMENT).exists(),
            has_webhook=webhook.endpoint is not None,
            has_delivered=_has_delivered(business),
        ),
    )


def _transactions(business: Business) -> QuerySet[Transaction]:
    mine: QuerySet[Transaction] = Transaction.objects.of(business)
    return mine


def _figures(business: Business, *, now: datetime) -> Figures:
    # By id, which begins with the time: there is an index for it.
    rows: list[Any] = list(
        _transactions(business)
        .filter(id__gte=earliest_id(now - PERIOD), request_type__in=MOVES_MONEY)
        .values("request_type", "status", "currency")
        .annotate(count=Count("id"), captured=Sum("amount_captured"))
        .order_by("-count", "currency")
    )
    payments = [row for row in rows if row["request_type"] == PAYMENT]
    by_status = _count(rows)
    payments_by_status = _count(payments)
    return Figures(
        volume=[(row["currency"], row["captured"]) for row in payments if row["status"] == STATUS.SUCCESS],
        succeeded=payments_by_status[STATUS.SUCCESS],
        finished=payments_by_status[STATUS.SUCCESS] + payments_by_status[STATUS.FAILED],
        pending=by_status[STATUS.PENDING],
        failed=by_status[STATUS.FAILED],
    )


def _count(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    counter: Counter[str] = Counter()
    for row in rows:
        counter[row["status"]] += row["count"]
    return counter


def _webhook_health(business: Business, *, now: datetime) -> WebhookHealth:
    counts = dict(
        Delivery.objects.filter(business=business, created_at__gte=now - PERIOD)
        .values_list("state")
        .annotate(count=Count("id"))
    )
    return WebhookHealth(
        endpoint=Endpoint.objects.filter(business=business).defer("hash_key").first(),
        delivered=counts.get(Delivery.State.DELIVERED, 0),
        waiting=counts.get(Delivery.State.WAITING, 0),
        held=counts.get(Delivery.State.HELD, 0),
        dead=counts.get(Delivery.State.DEAD, 0),
    )


def _has_delivered(business: Business) -> bool:
    delivered: bool = Delivery.objects.filter(business=business, state=Delivery.State.DELIVERED).exists()
    return delivered


def _keys(business: Business) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(business=business).defer("secret")


def _usable_keys(business: Business, *, now: datetime) -> Sequence[ApiKey]:
    usable: QuerySet[ApiKey] = ApiKey.objects.usable(at=now).filter(business=business).defer("secret")
    return list(usable.order_by("-created_at", "-pk")[:KEYS_SHOWN])
