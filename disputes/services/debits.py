"""The acquirer's debit of a dispute as an action of staff, where no statement of the acquirer records it.

The action is one of `payments.services.staff.staff_actions`, which reads it by name.
"""

from datetime import datetime
from uuid import UUID

from disputes.models import Dispute
from disputes.services import moves
from disputes.services.locking import lock_dispute
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState, Proposal
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import Handler, StaffAction

Action = Proposal.Action


class NothingDebited(InvalidState):
    default_detail = (
        "Nothing of this dispute was debited: it is an inquiry, or it ended and nothing of it was lost."
    )


class AlreadyRecorded(InvalidState):
    default_detail = "The acquirer's debit of this dispute was recorded before."


def can_be_recorded(dispute: Dispute) -> bool:
    """Return whether the acquirer may have debited a dispute, and no debit is recorded."""
    return dispute.debited_at is None and amount_of(dispute) > 0


def amount_of(dispute: Dispute) -> int:
    """Return what the acquirer debits, in minor units: of an ended dispute, what was lost."""
    if not dispute.moves_money:
        return 0
    return dispute.amount if dispute.is_open else dispute.amount_lost


def recording(dispute: Dispute, *, reason: str) -> StaffAction:
    """Return the recording of a debit.

    :raises AlreadyRecorded: one is recorded
    :raises NothingDebited: nothing can have been debited
    """
    if dispute.debited_at is not None:
        raise AlreadyRecorded
    if not can_be_recorded(dispute):
        raise NothingDebited
    return StaffAction(
        kind=Action.RECORD_DISPUTE_DEBIT,
        target=dispute.pk,
        business=dispute.business,
        currency=dispute.currency,
        amount=amount_of(dispute),
        reason=reason,
        parameters={"name": dispute.case_number},
        made_about=state(dispute),
    )


def state(dispute: Dispute) -> MadeAbout:
    """Return what the recording depends on."""
    return {
        "status": str(dispute.status),
        "amount": amount_of(dispute),
        "is_debited": dispute.debited_at is not None,
    }


def record(dispute: Dispute, *, actor: Actor, reason: str = "", now: datetime) -> None:
    """Record and book the debit of a locked dispute."""
    amount = amount_of(dispute)
    moved = moves.record_debit(dispute, actor=actor.name, now=now)
    audit.record(
        action="dispute.debited",
        actor=actor,
        business=dispute.business,
        target=str(dispute.pk),
        after={"case_number": dispute.case_number, "amount": amount, "currency": dispute.currency}
        | ({"reason": reason} if reason else {}),
        now=now,
    )
    moves.book([moved])


def _locked(dispute_id: UUID) -> Dispute:
    dispute = lock_dispute(dispute_id)
    dispute.business = dispute.transaction.business
    return dispute


def _lock_and_make(action: StaffAction) -> StaffAction:
    return recording(_locked(action.target), reason=action.reason)


def _perform(action: StaffAction, actor: Actor, now: datetime) -> None:
    record(_locked(action.target), actor=actor, reason=action.reason, now=now)


HANDLERS = {Action.RECORD_DISPUTE_DEBIT: Handler(_lock_and_make, _perform)}
