from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently, RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("merchants", "0010_makers_of_api_keys"),
        ("webhooks", "0009_account_events"),
    ]

    operations = [
        RemoveIndexConcurrently(
            model_name="delivery",
            name="deliveries_by_rare_event",
        ),
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
                    ("account.active", "account.active"),
                    ("account.failed", "account.failed"),
                    ("batch.completed", "payout_batch.completed"),
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="endpoint",
            name="subscribed_events",
            field=models.JSONField(
                help_text="Categories: payment, payout, refund, reversal, unapplied, settlement, account, payout_batch."
            ),
        ),
        migrations.AlterField(
            model_name="listenercopy",
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
                    ("account.active", "account.active"),
                    ("account.failed", "account.failed"),
                    ("batch.completed", "payout_batch.completed"),
                ],
                max_length=16,
            ),
        ),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(
                    (
                        "event__in",
                        (
                            "payment.failed",
                            "payment.mismatch",
                            "payout.failed",
                            "refund.success",
                            "refund.failed",
                            "payout.reversed",
                            "unapplied",
                            "released",
                            "account.active",
                            "account.failed",
                            "batch.completed",
                        ),
                    )
                ),
                fields=["business", "event", "-created_at"],
                name="deliveries_by_rare_event",
            ),
        ),
    ]
