from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0005_due_by_tries"),
    ]

    operations = [
        migrations.AlterField(
            model_name="delivery",
            name="event",
            field=models.CharField(
                choices=[
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
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="state",
            field=models.CharField(
                choices=[
                    ("waiting", "Waiting"),
                    ("held", "Held"),
                    ("delivered", "Delivered"),
                    ("dead", "Dead"),
                    ("skipped", "Skipped"),
                    ("failed", "Test failed"),
                ],
                default="waiting",
                max_length=9,
            ),
        ),
        migrations.AlterField(
            model_name="endpoint",
            name="subscribed_events",
            field=models.JSONField(
                help_text="Categories: payment, payout, refund, reversal, unapplied, settlement."
            ),
        ),
        AddConstraintNotValid(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=Q(state__in=["waiting", "held", "delivered", "dead", "skipped"])
                | Q(state="failed", subject__isnull=True),
                name="known_delivery_states",
            ),
        ),
    ]
