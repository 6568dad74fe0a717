"""The lock of a dispute is that of its payment, so that refunds and other stages of the case wait too."""

from uuid import UUID

from disputes.models import Dispute
from payments.services.transactions.intents import lock


def lock_dispute(dispute_id: UUID) -> Dispute:
    """Return the dispute with its payment, locked until the database transaction ends.

    :raises Dispute.DoesNotExist: there is no such dispute
    """
    transaction = lock(Dispute.objects.values_list("transaction_id", flat=True).get(pk=dispute_id))
    dispute: Dispute = Dispute.objects.select_for_update().get(pk=dispute_id)
    dispute.transaction = transaction
    return dispute
