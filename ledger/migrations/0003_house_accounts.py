import django.db.models.deletion
from django.db import migrations, models

from kit.db.migration_operations import AddConstraintNotValid, AllowNull


class Migration(migrations.Migration):
    """Add accounts and entries of no business."""

    dependencies = [
        ("ledger", "0002_drop_hot_foreign_keys"),
    ]

    operations = [
        AllowNull(
            "account",
            "business",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="merchants.business",
            ),
        ),
        AllowNull(
            "entry",
            "business",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="merchants.business",
            ),
        ),
        migrations.AlterField(
            "account",
            "kind",
            models.CharField(
                max_length=20,
                choices=[
                    ("wallet", "Wallet"),
                    ("pending_settlement", "Pending Settlement"),
                    ("payouts_in_flight", "Payouts In Flight"),
                    ("acquirer_receivable", "Acquirer Receivable"),
                    ("bank_clearing", "Bank Clearing"),
                    ("fees", "Fees"),
                    ("unapplied", "Unapplied"),
                    ("refunds_payable", "Refunds Payable"),
                    ("suspense", "Suspense"),
                ],
            ),
        ),
        migrations.AlterField(
            "entry",
            "kind",
            models.CharField(
                max_length=20,
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
                    ("suspense_in", "Suspense In"),
                    ("suspense_out", "Suspense Out"),
                ],
            ),
        ),
        AddConstraintNotValid(
            "account",
            models.CheckConstraint(
                condition=models.Q(business__isnull=True, kind__in=["bank_clearing", "suspense"])
                | models.Q(business__isnull=False) & ~models.Q(kind="suspense"),
                name="house_accounts_have_no_business",
            ),
        ),
        AddConstraintNotValid(
            "entry",
            models.CheckConstraint(
                condition=models.Q(business__isnull=True, kind__in=["suspense_in", "suspense_out"])
                | models.Q(business__isnull=False) & ~models.Q(kind__in=["suspense_in", "suspense_out"]),
                name="house_entries_have_no_business",
            ),
        ),
    ]
