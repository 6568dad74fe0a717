"""The timeline of a settlement batch."""

from dashboard.ui.components.timeline import BAD, GOOD, NEW, Moment
from kit.text.plurals import counted
from payments.models import BatchTransition, SettlementBatch, Transaction

Status = Transaction.SettleStatus

_MOMENTS = {
    Status.INITIATED: ("Opened", "", NEW),
    Status.PENDING: ("Payments added", "", GOOD),
    Status.APPROVED: ("Approved", "", GOOD),
    Status.RELEASED: ("Released to your balance", "", GOOD),
    Status.REJECTED: ("Rejected", "Its payments are added to a new batch.", BAD),
}

# What happens next, by state. Final states have nothing left.
NEXT_STEPS = {
    Status.INITIATED: "The day’s payments are being added.",  # noqa: RUF001  (typographic apostrophe)
    Status.PENDING: "Waiting for approval. After that, the net is released to your balance.",
    Status.APPROVED: "Approved. The net is released to your balance next.",
}


def steps_of(batch: SettlementBatch) -> list[Moment]:
    """Return the moments of a batch, oldest first."""
    transitions = list(BatchTransition.objects.filter(batch=batch).order_by("pk"))
    steps = [_step(transition, batch) for transition in transitions]
    if not transitions or transitions[0].after != Status.INITIATED:
        title, text, mark = _MOMENTS[Status.INITIATED]
        steps.insert(0, Moment(at=batch.created_at, title=title, text=text, mark=mark))
    return steps


def _step(transition: BatchTransition, batch: SettlementBatch) -> Moment:
    title, text, mark = _MOMENTS[Status(transition.after)]
    if transition.after == Status.PENDING:
        text = f"{counted(batch.payments_count, 'payment')} of the day, minus fees, refunds and disputes"
    return Moment(at=transition.at, title=title, text=transition.reason or text, mark=mark)
