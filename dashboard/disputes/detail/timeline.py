"""The timeline of a dispute: its steps, with the money that they moved, and what was added as evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboard.ui.components.timeline import BAD, GOOD, NEW, PLAIN, REQUESTED, WAIT, Mark, Moment
from dashboard.ui.dispute_names import dispute_name, stage_name
from disputes.models import Dispute, DisputeEvidence, DisputeStep
from kit.money.money import money, signed_money
from payments.rules.words.dispute_words import FOR_THE_BUSINESS, Status

Kind = DisputeStep.Kind
TITLES = {
    Kind.SUBMITTED: "Response submitted",
    Kind.HALF_TIME: "Half of the time to respond was over",
    Kind.LAST_QUARTER: "Three quarters of the time to respond were over",
    Kind.DEBITED: "The acquirer debited the amount",
    Kind.CORRECTED: "The acquirer gave money back",
}
MARKS = {
    Kind.OPENED: NEW,
    Kind.SUBMITTED: REQUESTED,
    Kind.HALF_TIME: WAIT,
    Kind.LAST_QUARTER: WAIT,
    Kind.CORRECTED: GOOD,
}
# Steps that members of the business or its keys take. Others are taken by staff, whose names stay ours.
OF_THE_BUSINESS = (Kind.SUBMITTED, Kind.CLOSED)


def timeline_of(dispute: Dispute) -> list[Moment]:
    """Return the moments of a dispute, oldest first, and the deadline while it is one."""
    # A case that is reported once it has ended was opened and closed at the same time.
    steps = sorted(dispute.steps.all(), key=lambda step: step.kind != Kind.OPENED)
    moments = [_moment(dispute, step) for step in steps]
    moments += [_added(item) for item in dispute.evidence.all()]
    return [*sorted(moments, key=lambda moment: moment.at), *_deadline(dispute)]


def _moment(dispute: Dispute, step: DisputeStep) -> Moment:
    by = f"By {step.actor}." if step.actor and step.kind in OF_THE_BUSINESS else ""
    return Moment(
        at=step.at,
        title=_title(dispute, step),
        text=by,
        lines=list(_lines(dispute, step)),
        mark=_mark(step),
    )


def _title(dispute: Dispute, step: DisputeStep) -> str:
    if step.kind == Kind.OPENED:
        return f"{stage_name(dispute.stage)} opened"
    if step.kind == Kind.CHANGED:
        return "Under review" if step.status == Status.UNDER_REVIEW else "Deadline changed"
    if step.kind == Kind.CLOSED:
        return f"Dispute ended: {dispute_name(step.status).lower()}"
    return TITLES[Kind(step.kind)]


def _mark(step: DisputeStep) -> Mark:
    if step.kind == Kind.CLOSED:
        return GOOD if step.status in FOR_THE_BUSINESS else PLAIN if step.status == Status.ACCEPTED else BAD
    return MARKS.get(Kind(step.kind), PLAIN)


def _lines(dispute: Dispute, step: DisputeStep) -> Iterator[tuple[str, str]]:
    """Yield what a step moved in the accounts of the business."""
    pending = -step.taken - step.fee
    if step.taken or step.fee:
        yield "Pending settlement", signed_money(pending, dispute.currency)
    if step.kind == Kind.OPENED and step.taken:
        yield "Held for disputes", signed_money(step.taken, dispute.currency)
    if step.kind == Kind.CLOSED and dispute.moves_money:
        yield "Held for disputes", signed_money(-dispute.amount, dispute.currency)
    if step.fee:
        yield "Dispute fee", money(step.fee, dispute.currency)


def _added(item: DisputeEvidence) -> Moment:
    what = "File added" if item.is_file else "Text added"
    by = f"By {item.actor}." if item.actor else ""
    return Moment(
        at=item.created_at, title=what, text=" ".join(filter(None, (item.name and f"{item.name}.", by)))
    )


def _deadline(dispute: Dispute) -> Sequence[Moment]:
    if dispute.status != Status.NEEDS_RESPONSE or dispute.respond_by is None:
        return []
    return [Moment(at=dispute.respond_by, title="Response due", mark=WAIT, is_planned=True)]
