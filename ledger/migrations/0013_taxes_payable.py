from django.db import migrations, models

from kit.db.migration_operations import AddConstraintNotValid

OF_NO_BUSINESS = ["suspense", "late_charges", "chargeback_clearing"]
OF_BANKS = ["bank", "acquirer", "provider", "costs", "write_offs"]


class Migration(migrations.Migration):
    """Add the accounts of taxes that are payable, and the entries of taxes on payouts."""

    dependencies = [
        ("ledger", "0012_open_accounts_of_reserves"),
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
                    ("reserve", "Reserve"),
                    ("taxes_payable", "Taxes Payable"),
                    ("bank", "Bank"),
                    ("acquirer", "Acquirer"),
                    ("provider", "Provider"),
                    ("costs", "Costs"),
                    ("write_offs", "Write Offs"),
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
                    ("tax", "Tax"),
                    ("top_up", "Top Up"),
                    ("dispute_opened", "Dispute Opened"),
                    ("dispute_fee", "Dispute Fee"),
                    ("dispute_closed", "Dispute Closed"),
                    ("dispute_corrected", "Dispute Corrected"),
                    ("chargeback_paid", "Chargeback Paid"),
                    ("reserve_held", "Reserve Held"),
                    ("reserve_returned", "Reserve Returned"),
                    ("suspense_in", "Suspense In"),
                    ("suspense_out", "Suspense Out"),
                    ("late_charge_in", "Late Charge In"),
                    ("late_charge_out", "Late Charge Out"),
                    ("chargeback_in", "Chargeback In"),
                    ("chargeback_out", "Chargeback Out"),
                    ("statement_opened", "Statement Opened"),
                    ("statement_matched", "Statement Matched"),
                ],
            ),
        ),
        migrations.RemoveConstraint("account", "house_accounts_have_no_business"),
        AddConstraintNotValid(
            "account",
            models.CheckConstraint(
                condition=models.Q(
                    business__isnull=True,
                    kind__in=[
                        "acquirer_receivable",
                        "bank_clearing",
                        *OF_NO_BUSINESS,
                        "taxes_payable",
                        *OF_BANKS,
                    ],
                )
                | models.Q(business__isnull=False) & ~models.Q(kind__in=[*OF_NO_BUSINESS, *OF_BANKS]),
                name="house_accounts_have_no_business",
            ),
        ),
    ]
