"""What has happened to a batch, for the timeline of its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboard.ui.components.timeline import BAD, GOOD, NEW, REQUESTED, Moment
from kit.text.plurals import counted
from payments.models import PayoutApprovalGrant
from payout_batches.models import PayoutBatch


def moments(
    batch: PayoutBatch, grants: Sequence[PayoutApprovalGrant], *, accepted: int, corrected: int
) -> list[Moment]:
    """Return what happened, oldest first. `accepted`, `corrected`: how many of its items were."""
    return sorted(_moments(batch, grants, accepted, corrected), key=lambda moment: moment.at)


def _moments(
    batch: PayoutBatch, grants: Sequence[PayoutApprovalGrant], accepted: int, corrected: int
) -> Iterator[Moment]:
    rows = counted(batch.item_count, "row")
    yield Moment(at=batch.created_at, title=f"Created by {batch.created_by}", text=rows, mark=NEW)
    if batch.checked_at is not None:
        found = [counted(accepted, "finding") + " accepted"] if accepted else []
        found += [counted(corrected, "account") + " corrected"] if corrected else []
        yield Moment(at=batch.checked_at, title="Accounts looked up", text=", ".join(found), mark=GOOD)
    if batch.approval is not None:
        yield Moment(at=batch.approval.created_at, title="Approval requested", mark=REQUESTED)
        for grant in grants:
            yield Moment(
                at=grant.at, title=f"Approved by {grant.user.email}", text=_matches(batch), mark=GOOD
            )
    elif batch.released_at is not None:
        yield Moment(at=batch.released_at, title=f"Approved by {batch.released_by}", mark=GOOD)
    if batch.started_at is not None:
        yield Moment(at=batch.started_at, title="Sending started", mark=REQUESTED)
    if batch.cancelled_at is not None:
        yield Moment(at=batch.cancelled_at, title=f"Cancelled by {batch.cancelled_by}", mark=BAD)
    if batch.status == PayoutBatch.Status.COMPLETED and batch.finished_at is not None:
        yield Moment(at=batch.finished_at, title="Completed", mark=GOOD)


def _matches(batch: PayoutBatch) -> str:
    """Say that the approved items are those that are sent: nothing is sent before they were compared."""
    digest = batch.approval.digest if batch.approval is not None and batch.started_at is not None else ""
    return f"Items match what was approved: {digest[:4]}…{digest[-4:]}" if digest else ""
