"""Ledger entries of disputes. The key of each is the step of the dispute.

An opened dispute moves its amount from pending settlement to `disputes_held`, whether or not the payment was released:
pending settlement may become negative, and blocks payouts then. What the acquirer debits for open disputes stands in
`chargeback_clearing` of the house, because it is not decided who bears it.
"""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from disputes.models import Dispute, DisputeReport, DisputeStep
from ledger.models import Entry
from ledger.services import Booking, Kind


def of_step(dispute: Dispute, step: DisputeStep) -> Iterator[Booking]:
    """Yield the entries of a step. An inquiry has none."""
    if step.fee:
        yield _of_business(
            dispute, Entry.Kind.DISPUTE_FEE, step, {Kind.PENDING_SETTLEMENT: -step.fee, Kind.FEES: step.fee}
        )
    if not dispute.moves_money:
        return
    if step.kind == DisputeStep.Kind.OPENED:
        legs = {Kind.PENDING_SETTLEMENT: -dispute.amount, Kind.DISPUTES_HELD: dispute.amount}
        yield _of_business(dispute, Entry.Kind.DISPUTE_OPENED, step, legs)
    elif step.kind == DisputeStep.Kind.CLOSED:
        yield from _closed(dispute, step)
    elif step.kind == DisputeStep.Kind.DEBITED:
        yield _debited(dispute, step)
    elif step.kind == DisputeStep.Kind.CORRECTED:
        legs = {_lost_to(dispute): step.taken, Kind.PENDING_SETTLEMENT: -step.taken}
        yield _of_business(dispute, Entry.Kind.DISPUTE_CORRECTED, step, legs)


def contradiction_in(report: DisputeReport, *, now: datetime) -> Booking:
    """Money that an acquirer gives back although it was booked as lost. It is owed until two people decide."""
    return _suspense(
        Entry.Kind.SUSPENSE_IN, report.pk, report, {Kind.ACQUIRER_RECEIVABLE: -1, Kind.SUSPENSE: 1}, now=now
    )


def contradiction_out(report: DisputeReport, *, now: datetime, reason: str) -> Booking:
    """The decision about such money."""
    legs = {Kind.SUSPENSE: -1, Kind.ACQUIRER_RECEIVABLE: 1}
    return _suspense(Entry.Kind.SUSPENSE_OUT, report.pk, report, legs, now=now, note=reason)


def _closed(dispute: Dispute, step: DisputeStep) -> Iterator[Booking]:
    lost = dispute.amount_lost
    yield _of_business(
        dispute,
        Entry.Kind.DISPUTE_CLOSED,
        step,
        {
            Kind.DISPUTES_HELD: -dispute.amount,
            Kind.PENDING_SETTLEMENT: dispute.amount - lost,
            _lost_to(dispute): lost,
        },
    )
    if dispute.debited_at is not None:
        yield _of_house(dispute, Entry.Kind.CHARGEBACK_OUT, step, clearing=dispute.amount)


def _debited(dispute: Dispute, step: DisputeStep) -> Booking:
    if dispute.is_open:
        return _of_house(dispute, Entry.Kind.CHARGEBACK_IN, step, clearing=-dispute.amount)
    legs = {Kind.REFUNDS_PAYABLE: -dispute.amount_lost, Kind.ACQUIRER_RECEIVABLE: dispute.amount_lost}
    return _of_business(dispute, Entry.Kind.CHARGEBACK_PAID, step, legs)


def _lost_to(dispute: Dispute) -> Kind:
    """Return where lost money goes: the acquirer has debited it, or it is still owed to it."""
    return Kind.ACQUIRER_RECEIVABLE if dispute.debited_at is not None else Kind.REFUNDS_PAYABLE


def _of_business(dispute: Dispute, kind: Entry.Kind, step: DisputeStep, legs: dict[Kind, int]) -> Booking:
    return Booking(
        kind=kind,
        cause=step.pk,
        business_id=dispute.business_id,
        currency=dispute.currency,
        legs=legs,
        at=step.at,
    )


def _of_house(dispute: Dispute, kind: Entry.Kind, step: DisputeStep, *, clearing: int) -> Booking:
    return Booking(
        kind=kind,
        cause=step.pk,
        business_id=None,
        currency=dispute.currency,
        legs={Kind.CHARGEBACK_CLEARING: clearing, Kind.ACQUIRER_RECEIVABLE: -clearing},
        at=step.at,
    )


def _suspense(
    kind: Entry.Kind,
    cause: UUID,
    report: DisputeReport,
    signs: dict[Kind, int],
    *,
    now: datetime,
    note: str = "",
) -> Booking:
    return Booking(
        kind=kind,
        cause=cause,
        business_id=None,
        currency=report.currency,
        legs={account: sign * report.amount_in_suspense for account, sign in signs.items()},
        at=now,
        note=note,
    )
