"""The details of a dispute, read with a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.http import Http404

from dashboard.disputes.convincing import SENTENCES, Tip, tips_for
from dashboard.disputes.outcome import Outcome, outcome_of
from dashboard.disputes.packet_parts import PacketPart, parts_of
from dashboard.disputes.timeline import timeline_of
from dashboard.memberships import Membership
from dashboard.transactions.related import (
    batch_link,
    customer_link,
    delivery_link,
    dispute_link,
    link_link,
    transaction_link,
)
from dashboard.ui.related import RelatedObject
from dashboard.ui.timeline import Moment
from disputes.models import Dispute
from kit.money.money import money
from payments.models import SettlementItem
from payments.rules.dispute_words import Reason
from webhooks.models import Delivery

RELATED = ("transaction__business", "transaction__challenge", "transaction__checkout__link")


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeDetail:
    outcome: Outcome
    figures: Sequence[DisputeFigure]
    convinces: str
    tips: Sequence[Tip]
    parts: Sequence[PacketPart]
    timeline: Sequence[Moment]
    customer: RelatedObject | None
    related: Sequence[RelatedObject]
    files: int
    can_answer: bool  # as far as the dispute goes
    can_accept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeFigure:
    """A figure in minor units, with a note."""

    name: str
    amount: int
    note: str


def own_dispute(membership: Membership, dispute_id: UUID) -> Dispute:
    """Return the business's dispute.

    :raises Http404: there is none, or it is another business's
    """
    found = Dispute.objects.of(membership.business).filter(pk=dispute_id)
    dispute: Dispute | None = (
        found.select_related("previous", "next", "answer_sending", "transaction__payment_link", *RELATED)
        .prefetch_related("steps", "evidence")
        .first()
    )
    if dispute is None:
        raise Http404
    return dispute


def detail_of(dispute: Dispute, *, now: datetime) -> DisputeDetail:
    parts = parts_of(dispute)
    items = dispute.evidence.all()
    customer = customer_link(dispute.transaction)
    return DisputeDetail(
        outcome=outcome_of(dispute, now=now),
        figures=list(_figures(dispute)),
        convinces=SENTENCES[Reason(dispute.reason)],
        tips=tips_for(
            dispute.reason, parts=[part.key for part in parts], kinds=[item.kind for item in items]
        ),
        parts=parts,
        timeline=timeline_of(dispute),
        customer=customer,
        related=list(_related(dispute, customer)),
        files=sum(item.is_file for item in items),
        can_answer=dispute.awaits_answer(at=now),
        can_accept=can_accept(dispute, now=now),
    )


def can_accept(dispute: Dispute, *, now: datetime) -> bool:
    return dispute.awaits_answer(at=now) and dispute.moves_money


def _figures(dispute: Dispute) -> Iterator[DisputeFigure]:
    captured = dispute.transaction.amount_captured
    whole = "The whole payment" if dispute.amount == captured else f"Of {money(captured, dispute.currency)}"
    yield DisputeFigure(name="Disputed", amount=dispute.amount, note=whole)
    if not dispute.moves_money:
        yield DisputeFigure(name="Held", amount=0, note="An inquiry moves no money")
        return
    if dispute.is_open:
        yield DisputeFigure(name="Held", amount=dispute.amount, note="From your pending settlement")
    else:
        yield DisputeFigure(name="Came back", amount=dispute.outcome_amount or 0, note="To your settlement")
        yield DisputeFigure(name="Lost", amount=dispute.amount_lost, note="To the cardholder")
    yield DisputeFigure(name="Fee", amount=dispute.fee, note=_fee_note(dispute))


def _fee_note(dispute: Dispute) -> str:
    if any(step.fee < 0 for step in dispute.steps.all()):
        return "Given back"
    if dispute.fee and dispute.is_open and settings.DISPUTE_FEE_RETURNED:
        return "Given back if you win"
    return "For this dispute" if dispute.fee else "None"


def _related(dispute: Dispute, customer: RelatedObject | None) -> Iterator[RelatedObject]:
    yield transaction_link(dispute.transaction)
    if customer is not None:
        yield customer
    stages = (dispute.previous, getattr(dispute, "next", None))
    yield from (dispute_link(each) for each in stages if each is not None)
    if dispute.transaction.payment_link is not None:
        yield link_link(dispute.transaction.payment_link)
    steps = [step.pk for step in dispute.steps.all()]
    deducted = SettlementItem.objects.filter(dispute_step__in=steps, is_live=True).select_related("batch")
    yield from (batch_link(item.batch) for item in deducted.order_by("id"))
    deliveries = (
        Delivery.objects.with_endpoint_url().filter(subject__in=steps).defer("body").order_by("created_at")
    )
    yield from (delivery_link(each) for each in deliveries)
