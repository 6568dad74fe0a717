"""The event of a completed batch, for businesses that are subscribed to it."""

from datetime import datetime

from payout_batches import summaries
from payout_batches.models import PayoutBatch
from payout_batches.representation import represent_batch
from webhooks import services as webhooks
from webhooks.models import Event
from webhooks.publishing import NewEvent


def publish_completed(batch: PayoutBatch, *, now: datetime) -> None:
    """Publish the end of a batch, in its database transaction."""
    event = NewEvent(
        Event.PAYOUT_BATCH_COMPLETED,
        business_id=batch.business_id,
        subject=batch.pk,
        data=lambda: represent_batch(summaries.shown(batch)),
    )
    webhooks.publish(event, now=now)
