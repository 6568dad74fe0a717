import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cash", "0005_end_breaks_by_journals"),
        ("ledger", "0016_validate_journals"),
        ("merchants", "0012_keys_change_webhooks"),
        ("payments", "0056_validate_stamp_duty"),
    ]

    operations = [
        migrations.AlterField(
            model_name="proposal",
            name="action",
            field=models.CharField(
                choices=[
                    ("top_up", "Top up a wallet"),
                    ("approve_batch", "Approve a settlement batch"),
                    ("approve_unfunded", "Approve a settlement batch without its money"),
                    ("release_batch", "Release a settlement batch"),
                    ("credit_unapplied", "Credit an unapplied transfer"),
                    ("return_unapplied", "Return an unapplied transfer"),
                    ("reverse_payout", "Reverse a payout"),
                    ("resolve_transaction", "Resolve an unknown transaction"),
                    ("resolve_operation", "Resolve an unknown operation"),
                    ("assign_unclaimed", "Assign an unclaimed transfer"),
                    ("write_off_unclaimed", "Write off an unclaimed transfer"),
                    ("match_return", "Match a payout return"),
                    ("write_off_return", "Write off a payout return"),
                    ("assign_dispute", "Assign a dispute to its payment"),
                    ("credit_dispute", "Credit the money of a lost dispute"),
                    ("dismiss_dispute", "Dismiss an unmatched dispute"),
                    ("journal", "Book a journal"),
                    ("reverse_journal", "Reverse a journal"),
                    ("change_user", "Change the rights of a user"),
                    ("change_group", "Change a group of staff"),
                    ("agree_fee", "Agree a fee"),
                    ("choose_connectors", "Choose the connectors of a business"),
                    ("match_breaks", "Match breaks between a bank and the ledger"),
                    ("change_bank_account", "Change a bank account of ours"),
                    ("agree_risk_terms", "Agree risk terms"),
                    ("collect_reserve", "Collect a debt from the reserve"),
                    ("lift_freeze", "Lift the freeze of payouts"),
                    ("declare_account", "Declare two accounts to be the same"),
                ],
                max_length=20,
            ),
        ),
        migrations.CreateModel(
            name="Journal",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "code",
                    models.CharField(
                        choices=[
                            ("correction", "Correction"),
                            ("write_off", "Write-off"),
                            ("goodwill", "Goodwill"),
                            ("recovery", "Recovery"),
                            ("cost", "Cost"),
                            ("funding", "Top-up"),
                        ],
                        max_length=10,
                    ),
                ),
                ("text", models.CharField(max_length=255)),
                ("currency", models.CharField(max_length=3)),
                ("booked_by", models.CharField(max_length=254)),
                ("at", models.DateTimeField()),
                (
                    "business",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
                (
                    "entry",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ledger.entry",
                    ),
                ),
                (
                    "explained",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="journal",
                        to="cash.break",
                        verbose_name="break",
                    ),
                ),
                (
                    "reverses",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reversal",
                        to="payments.journal",
                    ),
                ),
                (
                    "transaction",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payments.transaction",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="JournalLeg",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("wallet", "Wallet"),
                            ("pending_settlement", "Pending Settlement"),
                            ("unapplied", "Unapplied"),
                            ("acquirer_receivable", "Acquirer Receivable"),
                            ("taxes_payable", "Taxes Payable"),
                            ("bank", "Bank"),
                            ("bank_clearing", "Bank Clearing"),
                            ("acquirer", "Acquirer"),
                            ("provider", "Provider"),
                            ("suspense", "Suspense"),
                            ("costs", "Costs"),
                            ("write_offs", "Write Offs"),
                        ],
                        max_length=20,
                    ),
                ),
                ("name", models.CharField(blank=True, default="", max_length=321)),
                ("amount", models.BigIntegerField()),
                (
                    "journal",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="legs",
                        to="payments.journal",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="journal",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("code__in", ["correction", "write_off", "goodwill", "recovery", "cost", "funding"])
                ),
                name="known_journal_code",
            ),
        ),
        migrations.AddConstraint(
            model_name="journal",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("code", "funding"),
                    ("entry__isnull", False),
                    ("transaction__isnull", False),
                    ("explained__isnull", False),
                    ("reverses__isnull", False),
                    _connector="OR",
                ),
                name="journals_are_about_something",
            ),
        ),
        migrations.AddConstraint(
            model_name="journal",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("reverses__isnull", True),
                    models.Q(("reverses", models.F("id")), _negated=True),
                    _connector="OR",
                ),
                name="journals_reverse_others",
            ),
        ),
        migrations.AddConstraint(
            model_name="journal",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("code", "funding"), _negated=True), ("business__isnull", False), _connector="OR"
                ),
                name="fundings_are_of_a_business",
            ),
        ),
        migrations.AddIndex(
            model_name="journalleg",
            index=models.Index(
                condition=models.Q(("kind", "bank")), fields=["name", "id"], name="legs_of_bank_accounts"
            ),
        ),
        migrations.AddConstraint(
            model_name="journalleg",
            constraint=models.UniqueConstraint(
                fields=("journal", "kind", "name"), name="one_leg_per_journal_and_account"
            ),
        ),
        migrations.AddConstraint(
            model_name="journalleg",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount", 0), _negated=True), name="legs_move_something"
            ),
        ),
        migrations.AddConstraint(
            model_name="journalleg",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            "wallet",
                            "pending_settlement",
                            "unapplied",
                            "acquirer_receivable",
                            "taxes_payable",
                            "bank",
                            "bank_clearing",
                            "acquirer",
                            "provider",
                            "suspense",
                            "costs",
                            "write_offs",
                        ],
                    )
                ),
                name="legs_are_of_accounts_of_journals",
            ),
        ),
    ]
