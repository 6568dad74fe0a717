from django.db import migrations, models
from django.db.models import F, Q

import kit.db.encrypted_field
from kit.db.migration_operations import AddPostgreSQLIndex


class Migration(migrations.Migration):
    initial = True

    # A database that has all of these goes on as it is. Remove this list one release after 0.1.0.
    replaces = [
        ("virtual_accounts", "0002_unapplied_mismatches"),
        ("virtual_accounts", "0003_metadata"),
        ("virtual_accounts", "0004_bank_notifications"),
        ("virtual_accounts", "0005_metadata_search"),
        ("virtual_accounts", "0006_provider_messages"),
    ]

    dependencies = [
        ("merchants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="NumberSeries",
            fields=[
                ("bank_code", models.CharField(max_length=6, primary_key=True, serialize=False)),
                ("next_serial", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="VirtualAccount",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("reference", models.CharField(max_length=100)),
                ("fingerprint", models.CharField(max_length=64)),
                (
                    "type",
                    models.CharField(choices=[("static", "Static"), ("dynamic", "Dynamic")], max_length=7),
                ),
                (
                    "account_type",
                    models.CharField(
                        choices=[("individual", "Individual"), ("business", "Business")], max_length=10
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("inactive", "Inactive")],
                        default="active",
                        max_length=8,
                    ),
                ),
                ("account_number", models.CharField(blank=True, max_length=10)),
                ("bank_code", models.CharField(max_length=6)),
                ("bank_name", models.CharField(max_length=100)),
                ("first_name", models.CharField(blank=True, max_length=100)),
                ("middle_name", models.CharField(blank=True, max_length=100)),
                ("last_name", models.CharField(blank=True, max_length=100)),
                ("business_name", models.CharField(blank=True, max_length=200)),
                ("email", models.CharField(max_length=254)),
                ("phone_number", models.CharField(blank=True, max_length=11)),
                ("date_of_birth", models.DateField(blank=True, null=True)),
                ("gender", models.CharField(blank=True, max_length=6)),
                ("address", models.JSONField(default=dict)),
                ("bvn", kit.db.encrypted_field.EncryptedTextField(blank=True, null=True)),
                ("bvn_hash", models.CharField(blank=True, max_length=64)),
                ("bvn_last4", models.CharField(blank=True, max_length=4)),
                ("created_at", models.DateTimeField()),
                ("deactivated_at", models.DateTimeField(blank=True, null=True)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
                ("metadata", models.JSONField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["business", "-id"], name="accounts_newest_first"),
                    models.Index(condition=~Q(bvn_hash=""), fields=["bvn_hash"], name="accounts_by_bvn"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("business", "reference"), name="one_account_per_reference"
                    ),
                    models.UniqueConstraint(
                        condition=~Q(account_number=""),
                        fields=("account_number",),
                        name="one_account_per_number",
                    ),
                    models.CheckConstraint(
                        condition=Q(type="static") & ~Q(account_number="")
                        | Q(account_number="", type="dynamic"),
                        name="only_static_accounts_have_numbers",
                    ),
                    models.CheckConstraint(
                        condition=Q(account_type="individual") | Q(account_type="business", type="static"),
                        name="business_accounts_are_static",
                    ),
                    models.CheckConstraint(
                        condition=Q(deactivated_at__isnull=True, status="active")
                        | Q(deactivated_at__isnull=False, status="inactive"),
                        name="only_inactive_accounts_have_deactivated_at",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AccountNumber",
            fields=[
                ("number", models.CharField(max_length=10, primary_key=True, serialize=False)),
                ("bank_code", models.CharField(max_length=6)),
                ("bank_name", models.CharField(max_length=100)),
                ("free_at", models.DateTimeField(null=True)),
                (
                    "holder",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="numbers",
                        to="virtual_accounts.virtualaccount",
                    ),
                ),
                (
                    "last_holder",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="+",
                        to="virtual_accounts.virtualaccount",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=Q(holder__isnull=True),
                        fields=["bank_code", "free_at"],
                        name="numbers_to_take",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(free_at__isnull=False, holder__isnull=True)
                        | Q(free_at__isnull=True, holder=F("last_holder")),
                        name="numbers_are_held_or_free",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("bank_name", models.CharField(max_length=100)),
                ("account_name", models.CharField(max_length=320)),
                ("expected_amount", models.BigIntegerField()),
                ("amount_received", models.BigIntegerField(null=True)),
                ("currency", models.CharField(max_length=3)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("success", "Success"),
                            ("mismatch", "Mismatch"),
                            ("expired", "Expired"),
                            ("failed", "Failed"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("opened_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "number",
                    models.ForeignKey(
                        on_delete=models.PROTECT, related_name="sessions", to="virtual_accounts.accountnumber"
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=models.PROTECT,
                        related_name="sessions",
                        to="virtual_accounts.virtualaccount",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=Q(status="pending"), fields=["expires_at"], name="sessions_overdue"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(status="pending"), fields=("number",), name="one_open_session_per_number"
                    ),
                    models.CheckConstraint(
                        condition=Q(expected_amount__gt=0), name="expected_amount_is_positive"
                    ),
                    models.CheckConstraint(
                        condition=Q(ended_at__isnull=True, status="pending")
                        | Q(~Q(status="pending"), ended_at__isnull=False),
                        name="only_ended_sessions_have_ended_at",
                    ),
                    models.CheckConstraint(
                        condition=Q(amount_received=F("expected_amount"), status="success")
                        | Q(amount_received__isnull=False, status="mismatch")
                        & ~Q(amount_received=F("expected_amount"))
                        | Q(amount_received__isnull=True, status__in=["pending", "expired", "failed"]),
                        name="session_status_follows_amounts",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Transfer",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("bank_reference", models.CharField(max_length=100, unique=True)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("sender_name", models.CharField(max_length=100)),
                ("sender_account_number", models.CharField(blank=True, max_length=10)),
                ("sender_bank_code", models.CharField(blank=True, max_length=10)),
                ("received_at", models.DateTimeField()),
                (
                    "applied",
                    models.CharField(
                        choices=[
                            ("session", "Session"),
                            ("new_payment", "New Payment"),
                            ("unapplied", "Unapplied"),
                        ],
                        max_length=11,
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "applied"),
                            ("mismatch", "Mismatch"),
                            ("late", "Late"),
                            ("second", "Second"),
                            ("inactive", "Inactive"),
                            ("other_currency", "Other Currency"),
                        ],
                        max_length=14,
                    ),
                ),
                (
                    "number",
                    models.ForeignKey(
                        on_delete=models.PROTECT,
                        related_name="transfers",
                        to="virtual_accounts.accountnumber",
                    ),
                ),
                (
                    "session",
                    models.OneToOneField(
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="transfer",
                        to="virtual_accounts.session",
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=models.PROTECT,
                        related_name="transfers",
                        to="virtual_accounts.virtualaccount",
                    ),
                ),
                (
                    "extra_members",
                    models.JSONField(
                        blank=True, db_default=models.Value({}, models.JSONField()), default=dict
                    ),
                ),
                ("narration", models.CharField(blank=True, db_default="", default="", max_length=255)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=Q(amount__gt=0), name="transfer_amount_is_positive"),
                    models.CheckConstraint(
                        condition=Q(applied__in=["session", "new_payment"], reason="", session__isnull=False)
                        | Q(applied="unapplied", reason="mismatch", session__isnull=False)
                        | Q(applied="unapplied", session__isnull=True) & ~Q(reason__in=["", "mismatch"]),
                        name="transfers_are_applied_or_not",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UnappliedMoney",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("returned", "Returned"), ("credited", "Credited")],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=255)),
                ("actor", models.CharField(blank=True, max_length=254)),
                ("reference", models.CharField(blank=True, max_length=100)),
                ("created_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
                (
                    "transfer",
                    models.OneToOneField(
                        on_delete=models.PROTECT, related_name="unapplied", to="virtual_accounts.transfer"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "unapplied money",
                "indexes": [models.Index(fields=["business", "-id"], name="unapplied_newest_first")],
                "constraints": [
                    models.CheckConstraint(condition=Q(amount__gt=0), name="unapplied_amount_is_positive"),
                    models.CheckConstraint(
                        condition=Q(decided_at__isnull=True, state="open")
                        | Q(decided_at__isnull=False, state__in=["returned", "credited"])
                        & ~Q(reason="")
                        & ~Q(actor=""),
                        name="decisions_have_reason_and_actor",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UnclaimedTransfer",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("bank_reference", models.CharField(max_length=100)),
                ("account_number", models.CharField(max_length=10)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                (
                    "why",
                    models.CharField(
                        choices=[
                            ("unknown_account", "Unknown Account"),
                            ("amount_too_large", "Amount Too Large"),
                            ("conflict", "Conflict"),
                        ],
                        max_length=16,
                    ),
                ),
                ("sender_name", models.CharField(max_length=100)),
                ("narration", models.CharField(blank=True, max_length=255)),
                ("extra_members", models.JSONField(blank=True, default=dict)),
                ("received_at", models.DateTimeField()),
                ("resolution", models.CharField(blank=True, max_length=255)),
                ("resolved_by", models.CharField(blank=True, max_length=254)),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=Q(resolved_at__isnull=True), fields=["-id"], name="unclaimed_transfers_open"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=~Q(why="conflict"),
                        fields=("bank_reference",),
                        name="one_unclaimed_transfer_per_bank_reference",
                    ),
                    models.UniqueConstraint(
                        fields=("bank_reference", "account_number", "amount", "currency"),
                        name="one_unclaimed_transfer_per_content",
                    ),
                    models.CheckConstraint(condition=Q(amount__gt=0), name="unclaimed_amount_is_positive"),
                    models.CheckConstraint(
                        condition=Q(resolution="", resolved_at__isnull=True, resolved_by="")
                        | Q(resolved_at__isnull=False) & ~Q(resolution="") & ~Q(resolved_by=""),
                        name="resolutions_have_reason_and_actor",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProviderMessage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=[("close", "Close"), ("reopen", "Reopen")], max_length=6)),
                ("created_at", models.DateTimeField()),
                ("next_attempt_at", models.DateTimeField(blank=True, null=True)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                ("attempts_made", models.IntegerField(default=0)),
                ("last_error", models.CharField(blank=True, max_length=200)),
                ("answered_at", models.DateTimeField(blank=True, null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.PROTECT,
                        related_name="messages",
                        to="virtual_accounts.virtualaccount",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=Q(answered_at__isnull=True),
                        fields=["next_attempt_at"],
                        name="messages_unanswered",
                    ),
                    models.Index(fields=["account", "id"], name="messages_by_account"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(answered_at__isnull=True, next_attempt_at__isnull=False)
                        | Q(
                            answered_at__isnull=False, leased_until__isnull=True, next_attempt_at__isnull=True
                        ),
                        name="messages_are_due_or_answered",
                    )
                ],
            },
        ),
        # The dashboard's search for metadata.
        AddPostgreSQLIndex(
            name="accounts_by_metadata",
            table="virtual_accounts_virtualaccount",
            definition="USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL",
        ),
    ]
