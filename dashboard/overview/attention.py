"""What a person has to do, most urgent first: the top of the overview. Nothing to do: no items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet, Subquery
from django.urls import reverse

from dashboard.models import FallenRate
from dashboard.overview.endpoint_panel import EndpointPanel
from dashboard.success_rates.names import described
from dashboard.transactions.filters import AUTHORISED
from dashboard.ui.components.todo import Item
from disputes.models import Dispute
from kit import banks
from kit.money.money import money
from kit.text.plurals import counted
from kit.time.time_ordered_ids import earliest_id
from merchants.models import ApiKey, Business
from payments.models import SettlementBatch, Transaction
from payments.rules.words.dispute_words import Status
from virtual_accounts.models import UnappliedMoney

SOON = timedelta(days=2)  # an authorisation that expires
KEY_SOON = timedelta(days=14)  # a key that expires: its successor has to be installed
HELD_FOR = timedelta(days=31)  # longer than any card's authorisation


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits for a decision, or for the release of a settlement."""

    authorisations: int  # that expire soon
    first_expiry: datetime | None
    settlements: int  # closed, and not approved yet
    first_day: date | None  # of those settlements
    approvals: int  # of payouts and batches
    # The newest of them.
    approval_until: datetime | None
    approval_batch: UUID | None
    approval_title: str | None
    approval_payout: UUID | None
    approval_payee: str | None
    disputes: int  # that need a response
    respond_by: datetime | None  # to the first of them
    first_dispute: UUID | None  # the first of them to be opened
    fallen_rates: int  # success rates
    first_fallen: dict[str, Any] | None  # `FALLEN` of the one that was noticed first


FALLEN = ("kind", "key", "per_mille", "past_per_mille")


def fallen_rates(business: Business) -> QuerySet[FallenRate]:
    return FallenRate.objects.filter(business=business)


def unanswered_disputes(business: Business) -> QuerySet[Dispute]:
    return Dispute.objects.of(business).filter(status=Status.NEEDS_RESPONSE)


def newest_unapplied(business: Business) -> Any:
    """Return the newest transfer without a decision, with their number; None if there is none."""
    mine = UnappliedMoney.objects.open().filter(business=business)
    counted = mine.order_by().values("business").annotate(count=Count("pk")).values("count")
    described = mine.with_payment_reference().select_related("transfer")
    return described.annotate(open_count=Subquery(counted)).order_by("-pk").first()


def expiring_authorisations(business: Business, *, now: datetime) -> QuerySet[Transaction]:
    return Transaction.objects.of(business).filter(
        request_type=Transaction.RequestType.PAYMENT,
        status=Transaction.Status.PENDING,
        awaiting="capture",
        expires_at__gt=now,
        expires_at__lte=now + SOON,
        id__gte=earliest_id(now - HELD_FOR),  # bounds what the index is read for
    )


def unapproved_settlements(business: Business) -> QuerySet[SettlementBatch]:
    return SettlementBatch.objects.of(business).filter(state=Transaction.SettleStatus.PENDING)


def attention(
    business: Business,
    *,
    webhook: EndpointPanel,
    waiting: Waiting,
    keys: Sequence[ApiKey],
    now: datetime,
) -> list[Item]:
    return [
        *_disputes(waiting),
        *_approvals(waiting),
        *_fallen_rates(waiting),
        *_deliveries(webhook),
        *_unapplied(newest_unapplied(business)),
        *_authorisations(waiting),
        *_settlements(waiting),
        *_keys(keys, now=now),
    ]


def _disputes(waiting: Waiting) -> Iterator[Item]:
    if waiting.disputes:
        is_one = waiting.disputes == 1
        answer = f"{reverse('dashboard-dispute', args=[waiting.first_dispute])}#answer"
        yield Item(
            tone="bad",
            icon="scale",
            what=counted(waiting.disputes, "dispute needs a response", "disputes need a response"),
            why="Answer the first by" if waiting.respond_by else "The bank decides without one.",
            until=waiting.respond_by,
            address=answer if is_one else reverse("dashboard-disputes"),
            action="Respond" if is_one else "View disputes",
        )


def _approvals(waiting: Waiting) -> Iterator[Item]:
    if waiting.approval_until is None:
        return
    if waiting.approval_batch is not None:
        what = f"{waiting.approval_title} waits for approval"
        address = reverse("dashboard-batch", args=[waiting.approval_batch])
    else:
        what = f"Payout to {waiting.approval_payee} waits for approval"
        address = reverse("dashboard-payout-approval", args=[waiting.approval_payout])
    others = waiting.approvals - 1
    yield Item(
        tone="",
        icon="queue-list",
        what=f"{what}, and {counted(others, 'other does', 'others do')}" if others else what,
        why="An owner or finance member other than its maker may approve it until",
        until=waiting.approval_until,
        address=address,
        action="Review",
    )


def _fallen_rates(waiting: Waiting) -> Iterator[Item]:
    first = waiting.first_fallen
    if first is None:
        return
    others = waiting.fallen_rates - 1
    more = f", and {counted(others, 'other rate', 'other rates')} fell too" if others else ""
    yield Item(
        tone="bad",
        icon="chart-bar",
        what=f"{described(first['kind'], first['key'])} succeed less often than a week ago",
        why=f"{first['per_mille'] / 10:.1f}% instead of {first['past_per_mille'] / 10:.1f}% when it was noticed{more}.",
        address=reverse("dashboard-success-rates"),
        action="View success rates",
    )


def _deliveries(webhook: EndpointPanel) -> Iterator[Item]:
    if webhook.held:
        yield Item(
            tone="",
            icon="pause-circle",
            what=f"{counted(webhook.held, 'delivery is', 'deliveries are')} held",
            why="Your endpoint is off. Turn it on to send them.",
            address=reverse("dashboard-webhooks"),
            action="Open settings",
        )
    if webhook.is_failing:
        yield Item(
            tone="bad",
            icon="exclamation-triangle",
            what="Your endpoint has been failing since",
            since=webhook.failing_since,
            why=_undelivered(webhook),
            address=reverse("dashboard-deliveries"),
            action="View deliveries",
        )
    elif webhook.dead:
        yield Item(
            tone="bad",
            icon="exclamation-triangle",
            what=f"{counted(webhook.dead, 'delivery has', 'deliveries have')} stopped",
            why="Resend them when your endpoint works again.",
            address=reverse("dashboard-replay-range"),
            action="Resend deliveries",
        )


def _undelivered(webhook: EndpointPanel) -> str:
    """Say how many deliveries the outage concerns, without those that are none."""
    parts = [
        f"{counted(webhook.waiting, 'delivery is', 'deliveries are')} retrying" if webhook.waiting else "",
        f"{counted(webhook.dead, 'delivery has', 'deliveries have')} stopped" if webhook.dead else "",
    ]
    said = ", ".join(part for part in parts if part)
    return f"{said}." if said else "New deliveries are sent as they come."


def _unapplied(first: Any) -> Iterator[Item]:
    if first is None:
        return
    transfer, amount = first.transfer, money(first.amount, first.currency)
    bank = banks.name_of(transfer.sender_bank_code)
    account = " ".join(part for part in (bank, transfer.sender_account_number) if part)
    sender = f"{transfer.sender_name}, {account}" if account else transfer.sender_name
    meant_for = f"Meant for {first.payment_reference}. " if first.payment_reference else ""
    act = "Credit to your balance, or return to the sender."
    if first.open_count == 1:
        yield Item(
            tone="",
            icon="banknotes",
            what=f"{amount} from {sender} matches no open payment",
            why=f"{meant_for}{act}",
            address=reverse("dashboard-unapplied-item", args=[first.pk]),
            action="Review",
        )
        return
    yield Item(
        tone="",
        icon="banknotes",
        what=f"{first.open_count:,} transfers match no open payment",
        why=f"The latest is {amount} from {sender}. {act}",
        address=f"{reverse('dashboard-unapplied')}?state={UnappliedMoney.State.OPEN}",
        action="Review",
    )


def _authorisations(waiting: Waiting) -> Iterator[Item]:
    if waiting.authorisations:
        what = counted(waiting.authorisations, "authorisation expires", "authorisations expire")
        yield Item(
            tone="note",
            icon="clock",
            what=f"{what} within 2 days",
            why="Capture before",
            until=waiting.first_expiry,
            address=f"{reverse('dashboard-payments')}?status={AUTHORISED}",
            action="View payments",
        )


def _settlements(waiting: Waiting) -> Iterator[Item]:
    if waiting.settlements and waiting.first_day:
        what = counted(waiting.settlements, "settlement waits", "settlements wait")
        yield Item(
            tone="note",
            icon="building-library",
            what=f"{what} for approval",
            why=f"The oldest is of {waiting.first_day:%-d %b %Y}. You receive the money when it is released.",
            address=f"{reverse('dashboard-settlements')}?state={Transaction.SettleStatus.PENDING}",
            action="View settlements",
        )


def _keys(keys: Sequence[ApiKey], *, now: datetime) -> Iterator[Item]:
    address = reverse("dashboard-developers")
    if not keys:
        yield Item(
            tone="bad",
            icon="key",
            what="You have no active API keys",
            why="Your systems need one to call the API.",
            address=address,
            action="Create key",
        )
    for key in keys:
        if key.expires_at and key.expires_at <= now + KEY_SOON:
            yield Item(
                tone="",
                icon="key",
                what=f"The API key {key.name or key.public_id} expires soon",
                why="Rotate it, and install its successor before",
                until=key.expires_at,
                address=address,
                action="View keys",
            )
