"""Decisions of two people about unmatched reports: assign one to a payment, credit its money, or dismiss it.

The actions are those of `payments.services.staff.staff_actions`, which reads them by name.
"""

from datetime import datetime
from typing import cast
from uuid import UUID

from disputes.models import Dispute, DisputeReport
from disputes.services import ledger_entries, moves
from disputes.services.locking import lock_dispute
from disputes.services.reports import intake
from disputes.services.reports.matching import Unmatched
from ledger import services as ledger
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState, Proposal, Transaction
from payments.services.rails.declared_accounts import same_as
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import Handler, StaffAction
from payments.services.transactions.intents import lock

Action, Why = Proposal.Action, DisputeReport.Why
# Reports whose case had no payment. Of the others, the case has one, or they can't be read.
ASSIGNABLE = {Why.NO_PAYMENT, Why.SEVERAL_PAYMENTS, Why.AMOUNT_TOO_LARGE}


class NotOpen(InvalidState):
    default_detail = "This report was already settled."


def assignment(report: DisputeReport, payment: Transaction, *, reason: str) -> StaffAction:
    """Return the assignment of a report to the payment that it is about.

    :raises InvalidState: it is settled, its case has a payment, or this payment can't be the one
    """
    _require_assignable(report, payment)
    return StaffAction(
        kind=Action.ASSIGN_DISPUTE,
        target=report.pk,
        business=payment.business,
        currency=report.told["currency"],
        amount=report.told["amount"],
        reason=reason,
        parameters={"payment": str(payment.pk)},
        made_about={
            "why": str(report.why),
            "payment_reference": payment.reference,
            "payment_captured": payment.amount_captured,
            "payment_refunded": payment.amount_refunded,
            "payment_disputed": payment.amount_disputed,
        },
    )


def credit(report: DisputeReport, *, reason: str) -> StaffAction:
    """Return the credit of what the acquirer gave back after the business had lost it.

    :raises InvalidState: it is settled, or no money of it is in suspense
    """
    if not report.amount_in_suspense:
        raise InvalidState("No money of this report is in suspense.")
    return _closing(report, Action.CREDIT_DISPUTE, reason=reason, business=_dispute(report).business)


def dismissal(report: DisputeReport, *, reason: str) -> StaffAction:
    """Return the dismissal of a report.

    :raises InvalidState: it is settled
    """
    return _closing(report, Action.DISMISS_DISPUTE, reason=reason)


def state(report: DisputeReport) -> MadeAbout:
    """Return what every decision about a report depends on. The report itself never changes."""
    return {
        "is_open": report.is_open,
        "why": str(report.why),
        "amount": report.amount_in_suspense,
        "is_in_suspense": report.amount_in_suspense > 0,
    }


def find_payment(payment_id: UUID) -> Transaction:
    """Return a card payment.

    :raises InvalidState: there is no such payment
    """
    payments = Transaction.objects.filter(pk=payment_id, request_type=Transaction.RequestType.PAYMENT)
    found: Transaction | None = payments.select_related("business").first()
    if found is None:
        raise InvalidState("No payment has this ID.")
    return found


def _require_open(report: DisputeReport) -> None:
    if not report.is_open:
        raise NotOpen


def _require_assignable(report: DisputeReport, payment: Transaction) -> None:
    _require_open(report)
    if report.why not in ASSIGNABLE:
        raise InvalidState("This report can't be assigned to a payment. Dismiss it.")
    is_of_account = (payment.connector, payment.currency) == (report.connector, report.told["currency"])
    if not payment.is_card_payment or payment.status != Transaction.Status.SUCCESS or not is_of_account:
        raise InvalidState(
            f"Only a successful card payment in {report.told['currency']} through {report.connector} can be disputed here."
        )
    if report.told["amount"] > payment.amount_captured:
        raise InvalidState("More is disputed than was captured of this payment.")


def _closing(
    report: DisputeReport, kind: Proposal.Action, *, reason: str, business: Business | None = None
) -> StaffAction:
    _require_open(report)
    return StaffAction(
        kind=kind,
        target=report.pk,
        business=business,
        currency=report.currency if report.amount_in_suspense else "",
        amount=report.amount_in_suspense,
        reason=reason,
        parameters={"name": report.case_number or str(report)},
        made_about=state(report),
    )


def _dispute(report: DisputeReport) -> Dispute:
    """Return the dispute that a report contradicts."""
    return Dispute.objects.select_related("business").get(pk=cast("UUID", report.dispute_id))


def _lock(report_id: UUID) -> DisputeReport:
    return DisputeReport.objects.select_for_update().get(pk=report_id)


def _lock_case(report_id: UUID) -> None:
    """Lock the open reports of a report's case, so that its stages aren't assigned to several payments at the same time."""
    report = DisputeReport.objects.get(pk=report_id)
    of_case = DisputeReport.objects.unmatched().filter(
        connector=report.connector,
        account__in=same_as(report.connector, report.account),
        told__case_number=report.case_number,
    )
    list(of_case.select_for_update().order_by("pk").values_list("pk"))


def _lock_assignment(action: StaffAction) -> StaffAction:
    payment = lock(UUID(action.parameters["payment"]))
    _lock_case(action.target)
    return assignment(_lock(action.target), payment, reason=action.reason)


def _lock_credit(action: StaffAction) -> StaffAction:
    lock_dispute(_dispute(DisputeReport.objects.get(pk=action.target)).pk)
    return credit(_lock(action.target), reason=action.reason)


def _lock_dismissal(action: StaffAction) -> StaffAction:
    return dismissal(_lock(action.target), reason=action.reason)


def _assign(action: StaffAction, actor: Actor, now: datetime) -> None:
    payment, report = lock(UUID(action.parameters["payment"])), _lock(action.target)
    try:
        dispute = intake.assign(report, payment, now=now)
    except Unmatched as problem:
        raise InvalidState(problem.detail) from None
    _record(
        "assigned", report, action, actor=actor, now=now, payment=payment.reference, dispute=str(dispute.pk)
    )


def _credit(action: StaffAction, actor: Actor, now: datetime) -> None:
    report = _lock(action.target)
    dispute = lock_dispute(_dispute(report).pk)
    moved = moves.correct(dispute, report.amount_in_suspense, actor=actor.name, now=now)
    _settle(report, now=now)
    out = ledger_entries.contradiction_out(report, now=now, reason=action.reason)
    ledger.book_all([out, *moved.bookings])
    _record("credited", report, action, actor=actor, now=now, dispute=str(dispute.pk))


def _dismiss(action: StaffAction, actor: Actor, now: datetime) -> None:
    report = _lock(action.target)
    _settle(report, now=now)
    if report.amount_in_suspense:
        ledger.book(ledger_entries.contradiction_out(report, now=now, reason=action.reason))
    _record("dismissed", report, action, actor=actor, now=now)


HANDLERS = {
    Action.ASSIGN_DISPUTE: Handler(_lock_assignment, _assign),
    Action.CREDIT_DISPUTE: Handler(_lock_credit, _credit),
    Action.DISMISS_DISPUTE: Handler(_lock_dismissal, _dismiss),
}


def _settle(report: DisputeReport, *, now: datetime) -> None:
    report.settled_at = now
    report.save(update_fields=["settled_at"])


def _record(
    what: str, report: DisputeReport, action: StaffAction, *, actor: Actor, now: datetime, **further: str
) -> None:
    audit.record(
        action=f"dispute_report.{what}",
        actor=actor,
        business=action.business,
        target=str(report.pk),
        before={"state": "open", "why": action.made_about["why"]},
        after={
            "case_number": report.case_number,
            "amount": action.amount,
            "currency": action.currency,
            "reason": action.reason,
            **further,
        },
        now=now,
    )
