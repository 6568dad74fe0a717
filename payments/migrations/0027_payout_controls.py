import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Add limits, approval, a question to the business's server and a freeze of payouts."""

    dependencies = [
        ("merchants", "0010_makers_of_api_keys"),
        ("payments", "0026_rails_of_blocks"),
    ]

    operations = [
        migrations.CreateModel(
            name="PayoutControls",
            fields=[
                (
                    "business",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="payout_controls",
                        serialize=False,
                        to="merchants.business",
                    ),
                ),
                ("per_payout", models.JSONField(blank=True, default=dict)),
                ("per_day", models.JSONField(blank=True, default=dict)),
                ("per_beneficiary_and_day", models.JSONField(blank=True, default=dict)),
                ("new_beneficiaries", models.JSONField(blank=True, default=dict)),
                ("number_per_day", models.PositiveIntegerField(blank=True, null=True)),
                ("ask_instead", models.BooleanField(default=False)),
                (
                    "approval",
                    models.CharField(
                        choices=[("never", "Never"), ("above", "Above an amount"), ("always", "Always")],
                        default="never",
                        max_length=6,
                    ),
                ),
                ("approval_above", models.JSONField(blank=True, default=dict)),
                ("keys_need_approval", models.BooleanField(default=True)),
                ("two_approvals_above", models.JSONField(blank=True, default=dict)),
                ("server_url", models.CharField(blank=True, default="", max_length=2048)),
                ("caps", models.JSONField(blank=True, default=dict)),
                ("frozen_at", models.DateTimeField(blank=True, null=True)),
                ("freeze_reason", models.CharField(blank=True, default="", max_length=255)),
            ],
            options={
                "verbose_name_plural": "payout controls",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("approval__in", ["never", "above", "always"])),
                        name="known_payout_approval",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("freeze_reason", ""), ("frozen_at__isnull", True)),
                            models.Q(
                                ("frozen_at__isnull", False), models.Q(("freeze_reason", ""), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="freezes_of_payouts_have_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutControlsChange",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
                ("changes", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("applied", "Applied"), ("withdrawn", "Withdrawn")],
                        default="open",
                        max_length=9,
                    ),
                ),
                (
                    "made_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("applies_at", models.DateTimeField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("applies_at__isnull", False), ("state", "open")),
                        fields=["applies_at"],
                        name="changes_of_controls_due",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")),
                        fields=("business",),
                        name="one_open_change_of_payout_controls",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("state", "open")),
                            models.Q(("decided_at__isnull", False), ("state__in", ["applied", "withdrawn"])),
                            _connector="OR",
                        ),
                        name="only_decided_changes_of_controls_have_decided_at",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "applied"), _negated=True),
                            models.Q(("applies_at__isnull", False), ("decided_by__isnull", True)),
                            models.Q(
                                ("applies_at__isnull", True),
                                ("decided_by__isnull", False),
                                models.Q(("decided_by", models.F("made_by")), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="a_second_owner_or_time_loosens_controls",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutLimitCheck",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "transaction",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="limit_check",
                        to="payments.transaction",
                    ),
                ),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                ("day_began_at", models.DateTimeField()),
                ("per_payout", models.BigIntegerField(null=True)),
                ("per_day", models.BigIntegerField(null=True)),
                ("per_beneficiary_and_day", models.BigIntegerField(null=True)),
                ("new_beneficiaries", models.BigIntegerField(null=True)),
                ("number_per_day", models.BigIntegerField(null=True)),
                ("account_since", models.DateTimeField(null=True)),
                ("is_over", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["business", "day_began_at", "id"], name="limit_checks_of_day")
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutApproval",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
                (
                    "transaction",
                    models.OneToOneField(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="approval",
                        to="payments.transaction",
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                ("why", models.CharField(max_length=255)),
                ("needed", models.PositiveSmallIntegerField()),
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
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                            ("cancelled", "Cancelled"),
                            ("expired", "Expired"),
                        ],
                        default="waiting",
                        max_length=9,
                    ),
                ),
                ("reason", models.CharField(blank=True, default="", max_length=255)),
                (
                    "decided_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["business", "-id"],
                        name="approvals_waiting_of",
                    ),
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["expires_at"],
                        name="approvals_overdue",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("needed__in", [1, 2])), name="one_or_two_approvals"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("state", "waiting")),
                            models.Q(
                                ("decided_at__isnull", False),
                                ("state__in", ["approved", "rejected", "cancelled", "expired"]),
                            ),
                            _connector="OR",
                        ),
                        name="only_decided_approvals_have_decided_at",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "rejected"), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="rejected_payouts_have_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutApprovalGrant",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "approval",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="payments.payoutapproval",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("approval", "user"), name="one_grant_per_member")
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutServerQuestion",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
                (
                    "transaction",
                    models.OneToOneField(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="server_question",
                        to="payments.transaction",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asking", "Asking"),
                            ("approved", "Approved"),
                            ("denied", "Denied"),
                            ("unanswered", "Unanswered"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="asking",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("last_answer", models.CharField(blank=True, default="", max_length=100)),
                ("next_attempt_at", models.DateTimeField()),
                ("leased_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "asking")),
                        fields=["next_attempt_at"],
                        name="questions_due",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("state", "asking")),
                            models.Q(
                                ("decided_at__isnull", False),
                                ("state__in", ["approved", "denied", "unanswered", "cancelled"]),
                            ),
                            _connector="OR",
                        ),
                        name="only_decided_questions_have_decided_at",
                    )
                ],
            },
        ),
        migrations.RemoveConstraint(
            model_name="transaction",
            name="pending_transactions_await_something",
        ),
        migrations.AddField(
            model_name="transaction",
            name="released_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AlterField(
            model_name="transaction",
            name="awaiting",
            field=models.CharField(
                blank=True,
                choices=[
                    ("rail", "Rail"),
                    ("reversal", "Reversal"),
                    ("payer", "Payer"),
                    ("transfer", "Transfer"),
                    ("capture", "Capture"),
                    ("approval", "Approval"),
                    ("server", "Server"),
                    ("", "nothing"),
                ],
                default="rail",
                max_length=8,
            ),
        ),
        AddConstraintNotValid(
            "transaction",
            models.CheckConstraint(
                condition=~models.Q(status="pending")
                | models.Q(awaiting__in=["rail", "reversal", "payer", "transfer", "capture"])
                | models.Q(awaiting__in=["approval", "server"], request_type="payout"),
                name="pending_transactions_await_something",
            ),
        ),
    ]
