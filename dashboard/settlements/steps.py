"""The timeline of a settlement batch."""

from dashboard.ui.timeline import BAD, GOOD, NEW, WAIT, Moment
from payments.models import BatchTransition, SettlementBatch, Transaction

Status = Transaction.SettleStatus

_MOMENTS = {
    Status.INITIATED: ("Batch created", "The day's payments are being added.", NEW),
    Status.PENDING: ("Complete", "Fees and refunds are deducted. Awaiting approval.", WAIT),
    Status.APPROVED: ("Approved", "Awaiting release.", GOOD),
    Status.RELEASED: ("Released", "The net amount is in the wallet.", GOOD),
    Status.REJECTED: ("Rejected", "Its payments are added to a new batch.", BAD),
}


def steps_of(batch: SettlementBatch) -> list[Moment]:
    """Return the moments of a batch, oldest first."""
    transitions = list(BatchTransition.objects.filter(batch=batch).order_by("pk"))
    steps = [_step(transition) for transition in transitions]
    if not transitions or transitions[0].after != Status.INITIATED:
        title, text, mark = _MOMENTS[Status.INITIATED]
        steps.insert(0, Moment(at=batch.created_at, title=title, text=text, mark=mark))
    return steps


def _step(transition: BatchTransition) -> Moment:
    title, text, mark = _MOMENTS[Status(transition.after)]
    return Moment(at=transition.at, title=title, text=transition.reason or text, mark=mark)
