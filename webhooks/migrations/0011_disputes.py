from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddIndexConcurrently, RemoveIndexConcurrently

EVENTS = [
    ("payment.success", "payment.success"),
    ("payment.failed", "payment.failed"),
    ("payment.mismatch", "payment.mismatch"),
    ("payout.success", "payout.success"),
    ("payout.failed", "payout.failed"),
    ("refund.success", "refund.success"),
    ("refund.failed", "refund.failed"),
    ("payout.reversed", "payout.reversed"),
    ("unapplied", "transfer.unapplied"),
    ("released", "settlement.released"),
    ("account.active", "account.active"),
    ("account.failed", "account.failed"),
    ("batch.completed", "payout_batch.completed"),
    ("dispute.opened", "dispute.opened"),
    ("dispute.updated", "dispute.updated"),
    ("dispute.due_soon", "dispute.due_soon"),
    ("dispute.closed", "dispute.closed"),
]
RARE = tuple(event for event, _ in EVENTS if event not in {"payment.success", "payout.success"})
CATEGORIES = "payment, payout, refund, reversal, unapplied, settlement, account, payout_batch, dispute"


class Migration(migrations.Migration):
    """Add the events of disputes, which are rare."""

    atomic = False  # builds an index while rows are written

    dependencies = [("webhooks", "0010_payout_batch_events")]

    operations = [
        migrations.AlterField("delivery", "event", models.CharField(choices=EVENTS, max_length=16)),
        migrations.AlterField("listenercopy", "event", models.CharField(choices=EVENTS, max_length=16)),
        migrations.AlterField(
            "endpoint", "subscribed_events", models.JSONField(help_text=f"Categories: {CATEGORIES}.")
        ),
        RemoveIndexConcurrently("delivery", "deliveries_by_rare_event"),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                fields=["business", "event", "-created_at"],
                condition=Q(event__in=RARE),
                name="deliveries_by_rare_event",
            ),
        ),
    ]
