import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Store the events that providers send by webhook."""

    initial = True

    dependencies = [("payments", "0019_currency_of_reconciliations")]

    operations = [
        migrations.CreateModel(
            "ProviderEvent",
            [
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("provider", models.CharField(max_length=20)),
                ("event_key", models.CharField(max_length=64)),
                ("kind", models.CharField(max_length=60)),
                ("account", models.CharField(blank=True, max_length=60)),
                ("references", models.JSONField()),
                ("body", models.BinaryField()),
                (
                    "result",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "waiting"),
                            ("queried", "provider queried"),
                            ("not_answered", "query not answered"),
                            ("nothing_open", "nothing to query"),
                            ("not_ours", "no transaction of ours"),
                            ("other_account", "another account"),
                            ("kept", "kept"),
                            ("unknown_kind", "unknown kind"),
                            ("failed", "failed"),
                        ],
                        db_default="",
                        default="",
                        max_length=13,
                    ),
                ),
                ("outcome", models.CharField(blank=True, db_default="", default="", max_length=255)),
                ("received_at", models.DateTimeField()),
                ("last_received_at", models.DateTimeField()),
                ("times_received", models.PositiveIntegerField(db_default=1, default=1)),
                ("asked_at", models.DateTimeField(null=True)),
                ("processed_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("next_attempt_at", models.DateTimeField(null=True)),
                (
                    "operation",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payments.cardoperation",
                    ),
                ),
                (
                    "transaction",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payments.transaction",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(next_attempt_at__isnull=False),
                        fields=["next_attempt_at"],
                        name="provider_events_due",
                    ),
                    models.Index(fields=["provider", "-id"], name="provider_events_by_provider"),
                    models.Index(fields=["result", "-id"], name="provider_events_by_result"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=["provider", "event_key"], name="each_provider_event_once")
                ],
            },
        ),
    ]
