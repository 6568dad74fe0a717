"""The details of a dispute, read with a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.shortcuts import get_object_or_404

from dashboard.disputes.detail.convincing import SENTENCES, Tip, tips_for
from dashboard.disputes.detail.outcome import Outcome, outcome_of
from dashboard.disputes.detail.packet_parts import PacketPart, parts_of
from dashboard.disputes.detail.similar import with_similar
from dashboard.disputes.detail.timeline import timeline_of
from dashboard.memberships import Membership
from dashboard.transactions.detail.related import (
    batch_link,
    customer_link,
    delivery_link,
    dispute_link,
    link_link,
    transaction_link,
)
from dashboard.ui.components.related import RelatedObject
from dashboard.ui.components.timeline import Moment
from dashboard.ui.dispute_names import dispute_reason, stage_name
from disputes.models import Dispute
from kit.money.money import figures, money
from payments.models import SettlementItem
from payments.rules.words.dispute_words import STAGES, Reason, Stage
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
    """A figure with a note. An amount has a currency."""

    name: str
    value: str
    note: str
    currency: str = ""


def own_dispute(membership: Membership, dispute_id: UUID, *, now: datetime | None = None) -> Dispute:
    """Return the business's dispute; at a time, with the numbers of similar ones that its page shows.

    :raises Http404: there is none, or it is another business's
    """
    found = Dispute.objects.of(membership.business).filter(pk=dispute_id)
    found = with_similar(found, now=now) if now else found
    found = found.select_related("previous", "next", "answer_sending", "transaction__payment_link", *RELATED)
    return get_object_or_404(found.prefetch_related("steps", "evidence"))


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
    yield _amount(dispute, "Disputed", dispute.amount, whole)
    if not dispute.moves_money:
        yield _amount(dispute, "Held", 0, "An inquiry moves no money")
    elif dispute.is_open:
        yield _amount(dispute, "Held", dispute.amount, "From your pending settlement")
    else:
        yield _amount(dispute, "Came back", dispute.outcome_amount or 0, "To your settlement")
        yield _amount(dispute, "Lost", dispute.amount_lost, "To the cardholder")
    if dispute.moves_money:
        yield _amount(dispute, "Fee", dispute.fee, _fee_note(dispute))
    if dispute.is_open:
        yield _stage(dispute)
        yield from _similar(dispute)


def _amount(dispute: Dispute, name: str, amount: int, note: str) -> DisputeFigure:
    return DisputeFigure(
        name=name, value=figures(amount, dispute.currency), note=note, currency=dispute.currency
    )


def _stage(dispute: Dispute) -> DisputeFigure:
    following = STAGES[STAGES.index(Stage(dispute.stage)) + 1 :]
    note = f"Then {stage_name(following[0]).lower()}" if following else "The last one"
    return DisputeFigure(name="Stage", value=stage_name(dispute.stage), note=note)


def _similar(dispute: Dispute) -> Iterator[DisputeFigure]:
    """Yield how many disputes for the same reason were won, if any ended and the dispute was read with them."""
    ended, won = (getattr(dispute, name, 0) for name in ("similar_ended", "similar_won"))
    if ended:
        yield DisputeFigure(
            name="Similar, won",
            value=f"{won:,} of {ended:,}",
            note=f"{dispute_reason(dispute.reason)}, last year",
        )


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
