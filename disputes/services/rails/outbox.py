"""The outbox of answers to cases: an answer is written in the transaction in which the business gives it.

Before the call that can't be taken back, a worker records that the call begins. One that continues then knows that the
answer may have arrived.
"""

from datetime import datetime, timedelta

import structlog

from disputes import rails
from disputes.models import AnswerSending, Dispute
from disputes.services.rails import due_rows
from disputes.services.rails.due_rows import held, next_try

log = structlog.get_logger("sluice.disputes")

LEASE = timedelta(minutes=5)  # longer than all calls of an answer with ten files


def write(dispute: Dispute, *, now: datetime) -> None:
    """Have an answer sent to its provider, if that takes answers by calls. The caller has locked the dispute."""
    if rails.is_queried(dispute.connector):
        AnswerSending.objects.create(dispute=dispute, next_at=now, created_at=now)


def is_being_sent(dispute: Dispute) -> bool:
    """Return whether the answer of a business isn't known to have reached a provider that is called."""
    sending = getattr(dispute, "answer_sending", None)
    return sending is not None and sending.next_at is not None


def lease_next(*, now: datetime) -> AnswerSending | None:
    """Lease the answer that has been due for longest, or return None if none is."""
    return due_rows.lease_next(AnswerSending, LEASE, now=now)


def begin_final_call(sending: AnswerSending, *, now: datetime) -> bool:
    """Record that the call begins that can't be taken back. Return False if the lease was lost."""
    return bool(held(sending).update(sent_at=now))


def undo_final_call(sending: AnswerSending) -> None:
    """Record that the call that has begun was refused. Only an earlier one may have arrived."""
    held(sending).update(sent_at=sending.sent_at)


def record_end(sending: AnswerSending, result: AnswerSending.Result, *, now: datetime) -> None:
    """Record that an answer is there, or never will be."""
    held(sending).update(next_at=None, ended_at=now, result=result, last_error="")


def record_failure(sending: AnswerSending, error: str, *, now: datetime) -> None:
    """Record why an answer isn't known to be there, and try again later. After its deadline, staff are alarmed each time."""
    next_at = next_try(sending, now=now)
    held(sending).update(next_at=next_at, attempts=sending.attempts + 1, last_error=error[:200])
    if sending.dispute.is_overdue(at=now):
        log.error("answer to a dispute not sent in time", id=str(sending.dispute_id), reason=error[:200])
