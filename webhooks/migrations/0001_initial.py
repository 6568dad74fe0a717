from django.db import migrations, models
from django.db.models import F, Q, Value
from django.db.models.functions import Least

import kit.db.encrypted_field


class Migration(migrations.Migration):
    initial = True

    # A database that has all of these goes on as it is. Remove this list one release after 0.1.0.
    replaces = [
        ("webhooks", "0002_tls_and_held_at"),
        ("webhooks", "0003_deliveries_by_state"),
        ("webhooks", "0004_retention"),
        ("webhooks", "0005_due_by_tries"),
        ("webhooks", "0006_opt_in_events"),
        ("webhooks", "0007_failed_test_events"),
        ("webhooks", "0008_rare_events"),
    ]

    dependencies = [
        ("merchants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("subject", models.UUIDField(null=True, unique=True)),
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
                ("body", models.TextField()),
                (
                    "state",
                    models.CharField(
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
                ("attempts_made", models.PositiveSmallIntegerField(default=0)),
                ("manual_attempts", models.PositiveSmallIntegerField(default=0)),
                ("is_manual", models.BooleanField(default=False)),
                ("next_attempt_at", models.DateTimeField(null=True)),
                ("lease_token", models.UUIDField(null=True)),
                ("created_at", models.DateTimeField()),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
                ("held_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "indexes": [
                    models.Index(
                        condition=Q(state="waiting"), fields=["next_attempt_at"], name="deliveries_due"
                    ),
                    models.Index(condition=Q(state="held"), fields=["business"], name="deliveries_held"),
                    models.Index(fields=["business", "-created_at"], name="deliveries_newest_first"),
                    models.Index(fields=["business", "state", "-created_at"], name="deliveries_by_state"),
                    models.Index(
                        condition=Q(state__in=["delivered", "dead", "skipped"]) & ~Q(body=""),
                        fields=["state", "created_at"],
                        name="deliveries_finished",
                    ),
                    models.Index(
                        F("business"),
                        Least(
                            F("attempts_made") + F("manual_attempts"),
                            Value(1),
                            output_field=models.IntegerField(),
                        ),
                        F("next_attempt_at"),
                        condition=Q(state="waiting"),
                        name="deliveries_due_by_tries",
                    ),
                    models.Index(
                        condition=Q(state="failed") & ~Q(body=""),
                        fields=["created_at"],
                        name="deliveries_failed_tests",
                    ),
                    models.Index(
                        condition=Q(
                            event__in=(
                                "payment.failed",
                                "payment.mismatch",
                                "payout.failed",
                                "refund.success",
                                "refund.failed",
                                "payout.reversed",
                                "unapplied",
                                "released",
                            )
                        ),
                        fields=["business", "event", "-created_at"],
                        name="deliveries_by_rare_event",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(next_attempt_at__isnull=False, state="waiting") | ~Q(state="waiting"),
                        name="waiting_deliveries_have_a_next_attempt",
                    ),
                    models.CheckConstraint(
                        condition=~Q(state="delivered") | Q(delivered_at__isnull=False),
                        name="delivered_deliveries_have_delivered_at",
                    ),
                    models.CheckConstraint(
                        condition=~Q(state="held") | Q(held_at__isnull=False),
                        name="held_deliveries_have_held_at",
                    ),
                    models.CheckConstraint(
                        condition=~Q(state__in=["waiting", "held"]) | ~Q(body=""),
                        name="deliveries_to_send_have_a_body",
                    ),
                    models.CheckConstraint(
                        condition=Q(state__in=["waiting", "held", "delivered", "dead", "skipped"])
                        | Q(state="failed", subject__isnull=True),
                        name="known_delivery_states",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("is_manual", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField()),
                ("address", models.GenericIPAddressField(null=True)),
                ("dns_ms", models.FloatField(null=True)),
                ("connect_ms", models.FloatField(null=True)),
                ("wait_ms", models.FloatField(null=True)),
                ("total_ms", models.FloatField()),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("error", models.CharField(blank=True, max_length=32)),
                ("explanation", models.CharField(blank=True, max_length=255)),
                ("excerpt", models.BinaryField(blank=True, max_length=2048)),
                (
                    "delivery",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="attempts", to="webhooks.delivery"
                    ),
                ),
                ("tls_ms", models.FloatField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("delivery", "number"), name="one_attempt_per_number")
                ],
            },
        ),
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("url", models.CharField(max_length=2048)),
                (
                    "subscribed_events",
                    models.JSONField(
                        help_text="Categories: payment, payout, refund, reversal, unapplied, settlement."
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("hash_key", kit.db.encrypted_field.EncryptedTextField()),
                ("created_at", models.DateTimeField()),
                ("key_made_at", models.DateTimeField()),
                (
                    "business",
                    models.OneToOneField(
                        on_delete=models.CASCADE, related_name="webhook_endpoint", to="merchants.business"
                    ),
                ),
            ],
        ),
    ]
