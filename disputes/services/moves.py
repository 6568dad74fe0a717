"""The steps of a dispute: opened, changed, submitted, closed. Every change of a dispute goes through this module.

The caller holds the lock of the payment. State, ledger entries and the delivery of the event commit together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from disputes.models import Dispute, DisputeMail, DisputeReport, DisputeStep
from disputes.services import deadlines, ledger_entries
from disputes.services.answers import evidence
from disputes.services.reports.matching import Unmatched
from kit.db.prepared_statements import insert_if_absent
from kit.db.rows.columns import save_columns
from kit.time.time_ordered_ids import new_id
from ledger import services as ledger
from ledger.services import Booking
from payments.models import Transaction
from payments.representation.disputes import represent_dispute
from payments.rules.words.dispute_words import Status
from webhooks import services as webhooks
from webhooks.models import Event
from webhooks.publishing import NewEvent

Kind = DisputeStep.Kind

EVENTS: dict[Kind, Event] = {
    Kind.OPENED: Event.DISPUTE_OPENED,
    Kind.CHANGED: Event.DISPUTE_UPDATED,
    Kind.SUBMITTED: Event.DISPUTE_UPDATED,
    Kind.HALF_TIME: Event.DISPUTE_DUE_SOON,
    Kind.LAST_QUARTER: Event.DISPUTE_DUE_SOON,
    Kind.CLOSED: Event.DISPUTE_CLOSED,
    Kind.CORRECTED: Event.DISPUTE_UPDATED,
}
GIVES_THE_FEE_BACK = {Status.WON, Status.WITHDRAWN}


@dataclass(frozen=True, slots=True)
class Moved:
    """A step with its ledger entries, which are booked together at the end of the database transaction."""

    step: DisputeStep
    bookings: tuple[Booking, ...] = ()


def open_dispute(dispute: Dispute, *, now: datetime) -> Moved:
    """Store a new dispute, and hold its amount.

    :raises Unmatched: another payment got the case meanwhile. Nothing is stored
    """
    payment = dispute.transaction
    dispute.created_at = dispute.updated_at = now
    dispute.already_refunded = dispute.moves_money and _is_refunded(payment, dispute.amount)
    dispute.fee = settings.DISPUTE_FEES.get(dispute.currency, 0) if dispute.moves_money else 0
    dispute.remind_at = deadlines.next_reminder(dispute, set())
    if not insert_if_absent(dispute):
        raise Unmatched(DisputeReport.Why.SEVERAL_PAYMENTS, "The case belongs to another payment.")
    payment.count_dispute()
    if dispute.already_refunded:
        evidence.add_refunds(dispute, now=now)
    if dispute.moves_money:
        payment.add_disputed(dispute.amount)
        return _step(dispute, Kind.OPENED, taken=dispute.amount, fee=dispute.fee, now=now)
    return _step(dispute, Kind.OPENED, now=now)


def _is_refunded(payment: Transaction, amount: int) -> bool:
    """Return whether refunds, pending ones too, and other disputes leave less than an amount."""
    return payment.amount_not_refunded - payment.amount_disputed < amount


def change_deadline(dispute: Dispute, respond_by: datetime | None, *, now: datetime) -> Moved:
    """Move the deadline of a dispute that awaits an answer."""
    dispute.respond_by = respond_by
    _save(
        dispute,
        now=now,
        respond_by=respond_by,
        remind_at=deadlines.next_reminder(dispute, _reminded(dispute)),
    )
    return _step(dispute, Kind.CHANGED, now=now)


def note_network_deadline(dispute: Dispute, due_at: datetime | None, *, now: datetime) -> None:
    """Store the network's deadline. Businesses see ours only, so this isn't a step."""
    _save(dispute, now=now, network_due_at=due_at)


def start_review(dispute: Dispute, *, now: datetime) -> Moved:
    """Record that the acquirer is reviewing a dispute that was answered elsewhere."""
    _save(dispute, now=now, status=Status.UNDER_REVIEW)
    return _step(dispute, Kind.CHANGED, now=now)


def submit(dispute: Dispute, answer: dict[str, Any], *, actor: str, now: datetime) -> Moved:
    """Record that the business has answered."""
    _save(dispute, now=now, status=Status.UNDER_REVIEW, answer=answer)
    return _step(dispute, Kind.SUBMITTED, actor=actor, now=now)


def remind(dispute: Dispute, kind: Kind, *, now: datetime) -> Moved:
    """Record that part of the time to answer is over."""
    moved = _step(dispute, kind, now=now)
    _save(dispute, now=now, remind_at=deadlines.next_reminder(dispute, _reminded(dispute)))
    return moved


def close(
    dispute: Dispute,
    status: Status,
    *,
    outcome_amount: int,
    now: datetime,
    actor: str = "",
    answer: dict[str, Any] | None = None,
) -> Moved:
    """End an open dispute. `outcome_amount` comes back to the business, the rest is lost."""
    _save(
        dispute,
        now=now,
        status=status,
        outcome_amount=outcome_amount,
        resolved_at=now,
        **({} if answer is None else {"answer": answer}),
    )
    if not dispute.moves_money:
        return _step(dispute, Kind.CLOSED, actor=actor, now=now)
    dispute.transaction.add_disputed(-outcome_amount)
    is_returned = settings.DISPUTE_FEE_RETURNED and status in GIVES_THE_FEE_BACK
    fee = -dispute.fee if is_returned else 0
    return _step(dispute, Kind.CLOSED, taken=-outcome_amount, fee=fee, actor=actor, now=now)


def record_debit(dispute: Dispute, *, actor: str, now: datetime) -> Moved:
    """Record that the acquirer has debited the amount of a dispute: of an ended one, what was lost."""
    step = DisputeStep(
        id=new_id(now), dispute=dispute, kind=Kind.DEBITED, status=dispute.status, actor=actor, at=now
    )
    step.save(force_insert=True)
    bookings = tuple(ledger_entries.of_step(dispute, step))
    _save(dispute, now=now, debited_at=now)
    return Moved(step, bookings)


def correct(dispute: Dispute, amount: int, *, actor: str, now: datetime) -> Moved:
    """Give back what was booked as lost, because the acquirer gave it back. The status stays."""
    _save(dispute, now=now, outcome_amount=(dispute.outcome_amount or 0) + amount)
    dispute.transaction.add_disputed(-amount)
    return _step(dispute, Kind.CORRECTED, taken=-amount, actor=actor, now=now)


def book(moved: Iterable[Moved]) -> None:
    """Book all entries of a database transaction, at its end, so that ledger accounts are locked for a short time."""
    ledger.book_all([booking for each in moved for booking in each.bookings])


def _reminded(dispute: Dispute) -> set[str]:
    return set(dispute.steps.filter(kind__in=deadlines.REMINDERS).values_list("kind", flat=True))


def _step(
    dispute: Dispute, kind: Kind, *, now: datetime, taken: int = 0, fee: int = 0, actor: str = ""
) -> Moved:
    step = DisputeStep(
        id=new_id(now),
        dispute=dispute,
        kind=kind,
        status=dispute.status,
        taken=taken,
        fee=fee,
        actor=actor,
        at=now,
    )
    step.save(force_insert=True)
    event = NewEvent(
        EVENTS[kind], dispute.business_id, subject=step.pk, data=lambda: represent_dispute(dispute)
    )
    webhooks.publish(event, now=now)
    DisputeMail.objects.create(step=step, due_at=now)
    return Moved(step, tuple(ledger_entries.of_step(dispute, step)))


def _save(dispute: Dispute, *, now: datetime, **changes: Any) -> None:
    save_columns(dispute, **changes, updated_at=now)
