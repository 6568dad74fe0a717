import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add settlement accounts, their payouts, and holidays of banks."""

    dependencies = [
        ("merchants", "0012_keys_change_webhooks"),
        ("payments", "0048_validate_taxes_on_fees"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Holiday",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("currency", models.CharField(help_text="ISO 4217.", max_length=3)),
                ("day", models.DateField()),
                ("name", models.CharField(max_length=100)),
                (
                    "is_observed",
                    models.BooleanField(
                        default=True,
                        help_text="Unticked: banks are open on this day.",
                        verbose_name="observed",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SettlementAccount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                ("bank_code", models.CharField(blank=True, max_length=10)),
                ("account_number", models.CharField(blank=True, max_length=10)),
                ("account_name", models.CharField(blank=True, max_length=255)),
                ("since", models.DateTimeField(null=True)),
                (
                    "pays",
                    models.CharField(
                        choices=[("never", "Never"), ("daily", "Daily"), ("weekly", "Weekly")],
                        default="never",
                        max_length=6,
                    ),
                ),
                ("weekday", models.PositiveSmallIntegerField(null=True)),
                ("minimum", models.PositiveBigIntegerField(default=0)),
                ("stays", models.PositiveBigIntegerField(default=0)),
                ("batches_from", models.DateTimeField(null=True)),
                ("next_attempt_at", models.DateTimeField(null=True)),
                ("failures_since", models.DateTimeField(null=True)),
                ("paused_at", models.DateTimeField(null=True)),
                ("pause_reason", models.CharField(blank=True, max_length=255)),
                ("created_at", models.DateTimeField()),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SettlementAccountChange",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("bank_code", models.CharField(max_length=10)),
                ("account_number", models.CharField(max_length=10)),
                ("account_name", models.CharField(max_length=255)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("applied", "Applied"), ("stopped", "Stopped")],
                        default="open",
                        max_length=7,
                    ),
                ),
                ("needs_second_owner", models.BooleanField()),
                ("created_at", models.DateTimeField()),
                ("applies_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="changes",
                        to="payments.settlementaccount",
                    ),
                ),
                (
                    "confirmed_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
                    "stopped_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SettlementPayout",
            fields=[
                (
                    "payout",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="settlement_payout",
                        serialize=False,
                        to="payments.transaction",
                    ),
                ),
                (
                    "trigger",
                    models.CharField(choices=[("schedule", "Schedule"), ("member", "Member")], max_length=8),
                ),
                ("day", models.DateField(help_text="Business day, Africa/Lagos.")),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Pending"),
                            ("paid", "Paid"),
                            ("failed", "Failed"),
                            ("returned", "Returned"),
                        ],
                        default="",
                        max_length=8,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=255)),
                ("created_at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payouts",
                        to="payments.settlementaccount",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SettlementPayoutBatch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("is_live", models.BooleanField(default=True)),
                (
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payouts",
                        to="payments.settlementbatch",
                    ),
                ),
                (
                    "payout",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="batches",
                        to="payments.settlementpayout",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="holiday",
            constraint=models.UniqueConstraint(
                fields=("currency", "day"), name="one_holiday_per_currency_and_day"
            ),
        ),
        migrations.AddIndex(
            model_name="settlementaccount",
            index=models.Index(
                condition=models.Q(
                    ("paused_at__isnull", True), ("pays__in", ["daily", "weekly"]), ("since__isnull", False)
                ),
                fields=["id"],
                name="accounts_paid_automatically",
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementaccount",
            constraint=models.UniqueConstraint(
                fields=("business", "currency"), name="one_settlement_account_per_currency"
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementaccount",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("pays__in", ["never", "daily"]), ("weekday__isnull", True)),
                    models.Q(("pays", "weekly"), ("weekday__isnull", False), ("weekday__lte", 6)),
                    _connector="OR",
                ),
                name="weekly_settlement_payouts_have_a_weekday",
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementaccount",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("account_number", ""), ("bank_code", ""), ("since__isnull", True)),
                    models.Q(
                        ("since__isnull", False),
                        models.Q(("bank_code", ""), _negated=True),
                        models.Q(("account_number", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="settlement_accounts_are_complete",
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementaccount",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("pause_reason", ""), ("paused_at__isnull", True)),
                    models.Q(("paused_at__isnull", False), models.Q(("pause_reason", ""), _negated=True)),
                    _connector="OR",
                ),
                name="pauses_of_settlement_payouts_have_a_reason",
            ),
        ),
        migrations.AddIndex(
            model_name="settlementaccountchange",
            index=models.Index(
                condition=models.Q(("state", "open")), fields=["applies_at"], name="changes_of_accounts_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementaccountchange",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "open")),
                fields=("account",),
                name="one_open_change_of_settlement_account",
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementaccountchange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decided_at__isnull", True), ("state", "open"), ("stopped_by__isnull", True)),
                    models.Q(
                        ("decided_at__isnull", False), ("state", "applied"), ("stopped_by__isnull", True)
                    ),
                    models.Q(
                        ("decided_at__isnull", False), ("state", "stopped"), ("stopped_by__isnull", False)
                    ),
                    _connector="OR",
                ),
                name="only_decided_changes_of_accounts_have_decided_at",
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementaccountchange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "applied"), _negated=True),
                    models.Q(
                        ("decided_at__gte", models.F("applies_at")),
                        models.Q(
                            ("needs_second_owner", False), ("confirmed_by__isnull", False), _connector="OR"
                        ),
                    ),
                    _connector="OR",
                ),
                name="settlement_accounts_change_after_their_wait",
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementaccountchange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("confirmed_by__isnull", True),
                    models.Q(("confirmed_by", models.F("made_by")), _negated=True),
                    _connector="OR",
                ),
                name="a_second_owner_confirms_settlement_accounts",
            ),
        ),
        migrations.AddIndex(
            model_name="settlementpayout",
            index=models.Index(fields=["account", "-payout"], name="settlement_payouts_newest"),
        ),
        migrations.AddConstraint(
            model_name="settlementpayout",
            constraint=models.UniqueConstraint(
                condition=models.Q(("outcome", "")), fields=("account",), name="one_open_settlement_payout"
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementpayout",
            constraint=models.CheckConstraint(
                condition=models.Q(("outcome__in", ["", "paid", "failed", "returned"])),
                name="known_outcome_of_settlement_payout",
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementpayout",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("outcome__in", ["", "paid"]), ("reason", "")),
                    models.Q(
                        ("outcome__in", ["failed", "returned"]), models.Q(("reason", ""), _negated=True)
                    ),
                    _connector="OR",
                ),
                name="lost_settlement_payouts_have_a_reason",
            ),
        ),
        migrations.AddIndex(
            model_name="settlementpayoutbatch",
            index=models.Index(fields=["batch"], name="settlement_payouts_of_a_batch"),
        ),
        migrations.AddConstraint(
            model_name="settlementpayoutbatch",
            constraint=models.UniqueConstraint(
                fields=("payout", "batch"), name="batches_once_in_a_settlement_payout"
            ),
        ),
        migrations.AddConstraint(
            model_name="settlementpayoutbatch",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_live", True)),
                fields=("batch",),
                name="batch_in_one_live_settlement_payout",
            ),
        ),
    ]
