from django.db import migrations, models

from kit.db.migration_operations import AddConstraintNotValid

OF_NO_BUSINESS = ["suspense", "late_charges", "chargeback_clearing"]
HOUSE_ENTRIES = (
    "suspense_in",
    "suspense_out",
    "late_charge_in",
    "late_charge_out",
    "chargeback_in",
    "chargeback_out",
)


class Migration(migrations.Migration):
    """Add the accounts and entries of disputes."""

    dependencies = [
        ("ledger", "0006_open_accounts_of_late_charges"),
    ]

    operations = [
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
                    ("late_charges", "Late Charges"),
                    ("chargeback_clearing", "Chargeback Clearing"),
                    ("disputes_held", "Disputes Held"),
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
                    ("dispute_opened", "Dispute Opened"),
                    ("dispute_fee", "Dispute Fee"),
                    ("dispute_closed", "Dispute Closed"),
                    ("dispute_corrected", "Dispute Corrected"),
                    ("chargeback_paid", "Chargeback Paid"),
                    ("suspense_in", "Suspense In"),
                    ("suspense_out", "Suspense Out"),
                    ("late_charge_in", "Late Charge In"),
                    ("late_charge_out", "Late Charge Out"),
                    ("chargeback_in", "Chargeback In"),
                    ("chargeback_out", "Chargeback Out"),
                ],
            ),
        ),
        migrations.RemoveConstraint("account", "house_accounts_have_no_business"),
        AddConstraintNotValid(
            "account",
            models.CheckConstraint(
                condition=models.Q(
                    business__isnull=True,
                    kind__in=["acquirer_receivable", "bank_clearing", *OF_NO_BUSINESS],
                )
                | models.Q(business__isnull=False) & ~models.Q(kind__in=OF_NO_BUSINESS),
                name="house_accounts_have_no_business",
            ),
        ),
        migrations.RemoveConstraint("entry", "house_entries_have_no_business"),
        AddConstraintNotValid(
            "entry",
            models.CheckConstraint(
                condition=models.Q(business__isnull=True, kind__in=HOUSE_ENTRIES)
                | models.Q(business__isnull=False) & ~models.Q(kind__in=HOUSE_ENTRIES),
                name="house_entries_have_no_business",
            ),
        ),
    ]
