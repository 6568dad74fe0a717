from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Add the account and the entries of reserves."""

    dependencies = [
        ("ledger", "0010_unique_accounts_of_banks"),
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
        AddConstraintNotValid(
            "account",
            models.CheckConstraint(
                condition=~Q(kind="reserve") | Q(balance__gte=0), name="reserves_are_not_negative"
            ),
        ),
    ]
