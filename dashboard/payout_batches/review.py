"""What is reviewed of a batch before it is sent: who is new, what changed, what the limits allow, and who must approve."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from datetime import datetime
from typing import Any

from dashboard.payout_batches import approval_checks
from merchants.models import User
from payments.models import PayoutControls
from payout_batches import comparisons
from payout_batches.models import PayoutBatch, PayoutBatchItem
from payout_batches.services import batches, duplicates, limit_checks

STEPS = ("Add", "Review", "Approve", "Send")
SHOWN_DECISIONS, SHOWN_ROWS = 20, 200
LIMIT_NAMES = {
    "per_day": "Per day",
    "number_per_day": "Number per day",
    "per_payout": "Largest payout",
    "new_beneficiaries": "New beneficiary, first 24 hours",
}


def is_before(batch: PayoutBatch) -> bool:
    """Return whether a batch is still reviewed: it was neither released nor cancelled."""
    return batch.released_at is None and batch.finished_at is None


def context(
    batch: PayoutBatch, items: Sequence[PayoutBatchItem], *, user: User, now: datetime
) -> dict[str, Any]:
    """Return what the page of a batch with these items shows until it is released; nothing later."""
    if not is_before(batch):
        return {"new_accounts": ()}
    paid = [item for item in items if item.state != PayoutBatchItem.State.CANCELLED]
    new_accounts = comparisons.new_accounts(batch, paid)
    compared = comparisons.compare(batch, paid)
    undecided = [item for item in items if item.needs_decision]
    found: dict[str, Any] = {
        "is_before": True,
        "undecided": undecided[:SHOWN_DECISIONS],
        "undecided_number": len(undecided),
        "undecided_unnamed": len(undecided[SHOWN_DECISIONS:]),
        "new_accounts": new_accounts,
        "comparison": compared,
    }
    if batch.approval is not None:
        approvers = list(batches.approvers(batch))
        may_approve = user in [each.user for each in approvers]
        as_of_now = [copy(item) for item in paid]
        if may_approve:  # more may have been paid since the checks
            duplicates.mark(batch, as_of_now, now=now)
        rows = approval_checks.rows(as_of_now, new_accounts, compared)
        return found | {
            "checks": approval_checks.checks(batch, rows, compared),
            "rows": rows[:SHOWN_ROWS],
            "approvals_needed": batch.approval.needed,
            "why_approval": batch.approval.why,
            "approvers": approvers,
            "why_not": "" if may_approve else batches.why_not(batch, user),
            "grants": list(batch.approval.grants.select_related("user").order_by("at")),
        }
    controls = PayoutControls.objects.filter(business=batch.business_id).first()
    needed = batches.needed_approval(batch, paid, controls)
    uses = limit_checks.uses(batch, paid, new_accounts=new_accounts, controls=controls, now=now)
    return found | {
        "limits": [(LIMIT_NAMES[use.name], use) for use in uses],
        "approvals_needed": needed.approvals,
        "why_approval": needed.why,
        "approvers": batches.approvers(batch) if needed.approvals else (),
    }
