"""The batch of a payout, and the members who approved one or the other."""

from __future__ import annotations

from django.urls import reverse

from dashboard.ui.components.related import RelatedObject
from payments.models import PayoutApprovalGrant, Transaction
from payout_batches.models import PayoutBatch

Status = PayoutBatch.Status
STYLES = {Status.COMPLETED: "success", Status.CANCELLED: "inactive"}


def payout_batch_of(payout: Transaction) -> PayoutBatch | None:
    """Return the batch that a payout was sent with. Of a transaction that was read by `detail.find`."""
    item = getattr(payout, "batch_item", None)
    return item.batch if item else None


def approvers_of(payout: Transaction) -> list[str]:
    """Return the addresses of the members who approved a payout or its batch. It may have needed no approval."""
    batch = payout_batch_of(payout)
    approval = batch.approval_id if batch else getattr(getattr(payout, "approval", None), "pk", None)
    if approval is None:
        return [batch.released_by] if batch else []
    grants = PayoutApprovalGrant.objects.filter(approval=approval).order_by("at")
    return list(grants.values_list("user__email", flat=True))


def payout_batch_link(batch: PayoutBatch) -> RelatedObject:
    return RelatedObject(
        icon="rectangle-stack",
        name="Payout batch",
        text=batch.title,
        address=reverse("dashboard-batch", args=[batch.pk]),
        status=STYLES.get(Status(batch.status), "pending"),
        status_name=batch.status_name,
    )
