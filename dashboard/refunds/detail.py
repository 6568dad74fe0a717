"""The details of a refund, read with a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from dashboard.transactions.detail.detail import is_refundable
from dashboard.transactions.detail.figures import Figure, refund_left_note
from dashboard.transactions.detail.related import (
    account_link,
    batch_link,
    delivery_link,
    movement_link,
    transaction_link,
)
from dashboard.transactions.detail.timeline import timeline_of_refund
from dashboard.transactions.request_links import MembersAction, Origin, find_origin
from dashboard.ui.components.related import RelatedObject
from dashboard.ui.components.timeline import GOOD, Moment
from kit import banks
from payments.models import BatchTransition, CardOperation, SettlementBatch, SettlementItem, Transaction
from payments.representation.payments import represent_refund
from webhooks.models import Attempt, Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundDetail:
    figures: Sequence[Figure]
    timeline: Sequence[Moment]
    related: Sequence[RelatedObject]
    batch: SettlementBatch | None
    destination_bank: str
    api_object: dict[str, Any]
    is_repeatable: bool  # it failed, and its amount can be refunded again


def detail_of(refund: CardOperation) -> RefundDetail:
    events = (
        Delivery.objects.with_endpoint_url().filter(subject=refund.pk).defer("body").order_by("created_at")
    )
    deliveries = list(events)
    attempts = list(Attempt.objects.filter(delivery__in=deliveries).order_by("number")) if deliveries else []
    batch = _batch_of(refund)
    released = _release_of(batch) if batch else None
    origin = _origin_of(refund)
    return RefundDetail(
        figures=list(_figures(refund.transaction, refund)),
        timeline=sorted(
            [
                *timeline_of_refund(refund, maker=origin.maker, deliveries=deliveries, attempts=attempts),
                *([_released_moment(batch, released)] if batch and released else []),
            ],
            key=lambda moment: (moment.is_planned, moment.at),
        ),
        related=[
            *_related(refund, deliveries=deliveries, batch=batch, released=released),
            *origin.links(),
        ],
        batch=batch,
        destination_bank=banks.name_of(refund.destination_bank_code) if refund.is_transfer_refund else "",
        api_object=represent_refund(refund),
        is_repeatable=refund.status == CardOperation.Status.FAILED and is_refundable(refund.transaction),
    )


def _origin_of(refund: CardOperation) -> Origin:
    payment = refund.transaction
    asked = MembersAction(
        name="payment.refund_asked", target=payment.reference, reference=refund.reference or ""
    )
    return find_origin(payment.business, refund.pk, action=asked)


def _batch_of(refund: CardOperation) -> SettlementBatch | None:
    """Return the batch that the refund is deducted from."""
    items = SettlementItem.objects.filter(operation=refund, is_live=True).select_related("batch")
    item = items.first()
    return item.batch if item else None


def _release_of(batch: SettlementBatch) -> BatchTransition | None:
    if batch.state != Transaction.SettleStatus.RELEASED:
        return None
    return BatchTransition.objects.filter(batch=batch, after=Transaction.SettleStatus.RELEASED).first()


def _figures(payment: Transaction, refund: CardOperation) -> Iterator[Figure]:
    yield Figure(name="Amount", amount=refund.amount)
    yield Figure(name="Paid", amount=payment.amount_collected)
    yield Figure(name="Refunded in total", amount=payment.amount_refunded, note=refund_left_note(payment))


def _released_moment(batch: SettlementBatch, released: BatchTransition) -> Moment:
    return Moment(
        at=released.at,
        title=f"Settlement of {batch.day:%-d %b %Y} released",
        text="The refund was deducted from it.",
        address=reverse("dashboard-settlement", args=[batch.pk]),
        mark=GOOD,
    )


def _related(
    refund: CardOperation,
    *,
    deliveries: Sequence[Delivery],
    batch: SettlementBatch | None,
    released: BatchTransition | None,
) -> Iterator[RelatedObject]:
    payment = refund.transaction
    yield transaction_link(payment)
    yield from (delivery_link(each) for each in deliveries)
    if batch is not None:
        yield batch_link(batch)
    if batch is not None and released is not None:
        yield movement_link(batch.net, batch.currency, at=released.at, note=" with its settlement")
    if payment.session is not None:
        yield account_link(payment.session)
