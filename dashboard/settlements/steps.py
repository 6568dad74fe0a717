"""The steps of a batch on its way to the wallet."""

from dashboard.ui.timeline import BAD, GOOD, NEW, WAIT, Moment
from payments.models import BatchTransition, SettlementBatch, Transaction

Status = Transaction.SettleStatus

_TOLD = {
    Status.INITIATED: ("Batch created", "Payments of the day are gathered.", NEW),
    Status.PENDING: ("Complete", "Fees and refunds are netted; waits for approval.", WAIT),
    Status.APPROVED: ("Approved", "Waits to be released.", GOOD),
    Status.RELEASED: ("Released", "The net amount is in the wallet.", GOOD),
    Status.REJECTED: ("Rejected", "Its payments come into a new batch.", BAD),
}


def steps_of(batch: SettlementBatch) -> list[Moment]:
    """Return what happened to a batch, oldest first."""
    moves = list(BatchTransition.objects.filter(batch=batch).order_by("pk"))
    steps = [_step(move) for move in moves]
    if not moves or moves[0].after != Status.INITIATED:
        title, text, mark = _TOLD[Status.INITIATED]
        steps.insert(0, Moment(at=batch.created_at, title=title, text=text, mark=mark))
    return steps


def _step(move: BatchTransition) -> Moment:
    title, text, mark = _TOLD[Status(move.after)]
    return Moment(at=move.at, title=title, text=move.reason or text, mark=mark)
