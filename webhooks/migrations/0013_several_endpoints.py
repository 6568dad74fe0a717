import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q, Value
from django.db.models.functions import Least

import webhooks.versions
from kit.db.migration_operations import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    AddUniqueConstraintConcurrently,
    AllowDuplicates,
    RemoveIndexConcurrently,
)

CATEGORIES = "payment, payout, refund, reversal, unapplied, settlement, account, payout_batch, dispute"
TRIES = Least(F("attempts_made") + F("manual_attempts"), Value(1), output_field=models.IntegerField())


class Migration(migrations.Migration):
    """Allow several endpoints per business. Existing rows are those of the first endpoint: no row is rewritten."""

    atomic = False  # builds indexes while rows are written

    dependencies = [
        ("merchants", "0011_requests_about_disputes"),
        ("webhooks", "0012_extra_attempts"),
    ]

    operations = [
        migrations.AddField("delivery", "endpoint_number", models.IntegerField(db_default=0, default=0)),
        migrations.AddField("delivery", "shared_event_id", models.UUIDField(editable=False, null=True)),
        migrations.AddField("endpoint", "number", models.IntegerField(db_default=0, default=0)),
        migrations.AddField("endpoint", "deleted_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField(
            "endpoint",
            "description",
            models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
        migrations.AddField("endpoint", "made_by_api", models.BooleanField(db_default=False, default=False)),
        migrations.AddField(
            "endpoint", "standard_webhooks", models.BooleanField(db_default=False, default=False)
        ),
        migrations.AddField(
            "endpoint",
            "api_version",
            models.CharField(
                db_default="2026-11-01",
                default="2026-11-01",
                max_length=10,
                validators=[webhooks.versions.validate],
            ),
        ),
        AddUniqueConstraintConcurrently(
            "endpoint",
            models.UniqueConstraint(F("business"), F("number"), name="one_endpoint_per_number"),
        ),
        AddConstraintNotValid(
            "endpoint",
            models.CheckConstraint(
                condition=~Q(number=0) | Q(deleted_at__isnull=True), name="first_endpoints_are_never_deleted"
            ),
        ),
        migrations.AlterField(
            "endpoint",
            "subscribed_events",
            models.JSONField(help_text=f"Names of events, or categories: {CATEGORIES}."),
        ),
        AddUniqueConstraintConcurrently(
            "delivery",
            models.UniqueConstraint(
                fields=["subject", "endpoint_number"],
                condition=Q(subject__isnull=False),
                name="one_delivery_per_outcome",
            ),
        ),
        migrations.AlterField("delivery", "subject", models.UUIDField(null=True)),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                F("business"),
                F("endpoint_number"),
                TRIES,
                F("next_attempt_at"),
                condition=Q(state="waiting"),
                name="deliveries_due_by_endpoint",
            ),
        ),
        RemoveIndexConcurrently("delivery", "deliveries_due_by_tries"),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                fields=["business", "endpoint_number", "-created_at"],
                condition=Q(endpoint_number__gt=0),
                name="deliveries_of_further_endpoint",
            ),
        ),
        AllowDuplicates(
            "endpoint",
            "business",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="webhook_endpoints",
                to="merchants.business",
            ),
        ),
    ]
