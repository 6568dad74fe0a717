from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    initial = True

    # A database that has all of these goes on as it is. Remove this list one release after 0.1.0.
    replaces = [
        ("ledger", "0002_covered_entries"),
    ]

    dependencies = [
        ("merchants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Account",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("wallet", "Wallet"),
                            ("pending_settlement", "Pending Settlement"),
                            ("payouts_in_flight", "Payouts In Flight"),
                            ("acquirer_receivable", "Acquirer Receivable"),
                            ("bank_clearing", "Bank Clearing"),
                            ("fees", "Fees"),
                            ("unapplied", "Unapplied"),
                            ("refunds_payable", "Refunds Payable"),
                        ],
                        max_length=20,
                    ),
                ),
                ("balance", models.BigIntegerField(default=0)),
                ("sequence", models.BigIntegerField(default=0)),
                ("hash", models.BinaryField(default=bytes, max_length=32)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("business", "currency", "kind"),
                        name="one_account_per_business_currency_and_kind",
                    ),
                    models.CheckConstraint(
                        condition=Q(sequence__gt=0) | Q(balance=0, sequence=0),
                        name="balances_come_from_postings",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("card", "Card"),
                            ("refund", "Refund"),
                            ("virtual_account", "Virtual Account"),
                            ("payout_accepted", "Payout Accepted"),
                            ("payout_sent", "Payout Sent"),
                            ("payout_failed", "Payout Failed"),
                            ("payout_reversed", "Payout Reversed"),
                            ("settlement_released", "Settlement Released"),
                            ("unapplied_in", "Unapplied In"),
                            ("unapplied_out", "Unapplied Out"),
                            ("top_up", "Top Up"),
                        ],
                        max_length=20,
                    ),
                ),
                ("cause", models.UUIDField()),
                ("currency", models.CharField(max_length=3)),
                ("note", models.CharField(blank=True, max_length=255)),
                ("at", models.DateTimeField()),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
                ("is_covered", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "verbose_name_plural": "entries",
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "cause"), name="one_entry_per_kind_and_cause")
                ],
            },
        ),
        migrations.CreateModel(
            name="Posting",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("amount", models.BigIntegerField()),
                ("sequence", models.BigIntegerField()),
                ("balance_after", models.BigIntegerField()),
                ("previous_hash", models.BinaryField(max_length=32)),
                ("hash", models.BinaryField(max_length=32)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="postings", to="ledger.account"
                    ),
                ),
                (
                    "entry",
                    models.ForeignKey(on_delete=models.PROTECT, related_name="postings", to="ledger.entry"),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("account", "sequence"), name="one_posting_per_sequence"),
                    models.CheckConstraint(condition=~Q(amount=0), name="postings_move_something"),
                ],
            },
        ),
    ]
