import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0006_name_of_api_keys"),
        ("webhooks", "0002_open_outages"),
    ]

    operations = [
        migrations.CreateModel(
            name="Listener",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=64)),
                (
                    "events",
                    models.JSONField(help_text="The kinds of events that are copied, as stored in `Event`."),
                ),
                ("dropped", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ListenerCopy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("event_id", models.UUIDField()),
                (
                    "event",
                    models.CharField(
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
                (
                    "origin",
                    models.CharField(
                        choices=[("event", "Event"), ("resend", "Resend"), ("test", "Test")], max_length=6
                    ),
                ),
                ("body", models.TextField()),
                ("times", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField()),
                (
                    "listener",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="webhooks.listener",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "listener copies",
            },
        ),
        migrations.AddConstraint(
            model_name="listener",
            constraint=models.UniqueConstraint(fields=("business", "name"), name="one_listener_per_name"),
        ),
        migrations.AddIndex(
            model_name="listenercopy",
            index=models.Index(fields=["listener", "id"], name="copies_oldest_first"),
        ),
    ]
