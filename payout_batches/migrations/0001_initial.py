import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("merchants", "0010_makers_of_api_keys"),
        ("payments", "0032_reserved_references"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="WorkLease",
            fields=[
                ("name", models.CharField(max_length=80, primary_key=True, serialize=False)),
                ("token", models.UUIDField()),
                ("leased_until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="PayoutBatch",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("reference", models.CharField(max_length=100)),
                ("fingerprint", models.CharField(max_length=64)),
                ("title", models.CharField(max_length=80)),
                ("currency", models.CharField(max_length=3)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("checking", "Checking"),
                            ("needs_correction", "Needs Correction"),
                            ("ready", "Ready"),
                            ("awaiting_approval", "Awaiting Approval"),
                            ("scheduled", "Scheduled"),
                            ("processing", "Processing"),
                            ("completed", "Completed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="checking",
                        max_length=17,
                    ),
                ),
                ("item_count", models.PositiveSmallIntegerField()),
                ("amount", models.BigIntegerField()),
                ("fees", models.BigIntegerField()),
                ("run_at", models.DateTimeField(null=True)),
                ("as_far_as_balance", models.BooleanField(default=False)),
                ("root_reference", models.CharField(max_length=100)),
                ("created_by", models.CharField(max_length=254)),
                ("created_at", models.DateTimeField()),
                ("released_by", models.CharField(blank=True, max_length=254)),
                ("released_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("cancelled_by", models.CharField(blank=True, max_length=254)),
                ("cancelled_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("waits_for", models.CharField(blank=True, max_length=255)),
                ("next_attempt_at", models.DateTimeField(null=True)),
                ("held_since", models.DateTimeField(null=True)),
                (
                    "approval",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="batch",
                        to="payments.payoutapproval",
                    ),
                ),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.apikey",
                    ),
                ),
                (
                    "maker",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "retry_of",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="retries",
                        to="payout_batches.payoutbatch",
                    ),
                ),
                (
                    "server_question",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="batch",
                        to="payments.payoutserverquestion",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "payout batches",
            },
        ),
        migrations.CreateModel(
            name="PayoutBatchItem",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("position", models.PositiveSmallIntegerField()),
                ("reference", models.CharField(max_length=100)),
                ("root_reference", models.CharField(max_length=100)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("name", models.CharField(max_length=255)),
                ("account_number", models.CharField(max_length=10)),
                ("bank_code", models.CharField(max_length=10)),
                ("email", models.CharField(blank=True, max_length=254)),
                ("customer_reference", models.CharField(blank=True, max_length=100)),
                ("narration", models.CharField(blank=True, max_length=255)),
                ("metadata", models.JSONField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("checking", "Checking"),
                            ("ok", "Ok"),
                            ("name_differs", "Name Differs"),
                            ("unverified", "Unverified"),
                            ("unknown_account", "Unknown Account"),
                            ("duplicate", "Duplicate"),
                            ("over_limit", "Over Limit"),
                            ("held", "Held"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                            ("sent", "Sent"),
                        ],
                        default="checking",
                        max_length=15,
                    ),
                ),
                ("account_name", models.CharField(blank=True, max_length=255)),
                ("duplicate_of", models.CharField(blank=True, max_length=100)),
                ("problem", models.CharField(blank=True, max_length=255)),
                ("accepted_reason", models.CharField(blank=True, max_length=255)),
                ("accepted_by", models.CharField(blank=True, max_length=254)),
                ("accepted_at", models.DateTimeField(null=True)),
                (
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="items",
                        to="payout_batches.payoutbatch",
                    ),
                ),
                (
                    "beneficiary",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payments.beneficiary",
                    ),
                ),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
                (
                    "payout",
                    models.OneToOneField(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="batch_item",
                        to="payments.transaction",
                    ),
                ),
                (
                    "retried_as",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="retry_of",
                        to="payout_batches.payoutbatchitem",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="payoutbatch",
            index=models.Index(fields=["business", "-id"], name="payout_batches_newest_first"),
        ),
        migrations.AddIndex(
            model_name="payoutbatch",
            index=models.Index(
                condition=models.Q(("status__in", ["checking", "scheduled", "processing"])),
                fields=["status", "next_attempt_at"],
                name="payout_batches_with_work",
            ),
        ),
        migrations.AddIndex(
            model_name="payoutbatch",
            index=models.Index(fields=["business", "root_reference"], name="payout_batches_of_family"),
        ),
        migrations.AddConstraint(
            model_name="payoutbatch",
            constraint=models.UniqueConstraint(
                fields=("business", "reference"), name="one_batch_per_reference"
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutbatch",
            constraint=models.CheckConstraint(
                condition=models.Q(("item_count__gte", 1), ("item_count__lte", 1000)),
                name="batches_have_1_to_1000_items",
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutbatch",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status__in", ["scheduled", "processing", "completed"]), _negated=True),
                    ("released_at__isnull", False),
                    _connector="OR",
                ),
                name="sent_batches_were_approved",
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutbatch",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("finished_at__isnull", False), ("status__in", ["completed", "cancelled"])),
                    models.Q(
                        models.Q(("status__in", ["completed", "cancelled"]), _negated=True),
                        ("finished_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="only_ended_batches_have_finished_at",
            ),
        ),
        migrations.AddIndex(
            model_name="payoutbatchitem",
            index=models.Index(
                condition=models.Q(("state", "checking")), fields=["position"], name="batch_items_to_check"
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutbatchitem",
            constraint=models.UniqueConstraint(fields=("batch", "position"), name="one_item_per_position"),
        ),
        migrations.AddConstraint(
            model_name="payoutbatchitem",
            constraint=models.UniqueConstraint(
                fields=("business", "reference"), name="one_item_per_reference"
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutbatchitem",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0)), name="batch_item_amount_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutbatchitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("payout__isnull", False), ("state", "sent")),
                    models.Q(models.Q(("state", "sent"), _negated=True), ("payout__isnull", True)),
                    _connector="OR",
                ),
                name="only_sent_items_have_payouts",
            ),
        ),
    ]
