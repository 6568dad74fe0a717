from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid

OF_NO_BUSINESS = [
    "suspense",
    "late_charges",
    "chargeback_clearing",
    "bank",
    "acquirer",
    "provider",
    "costs",
    "write_offs",
    "reserves",
    "reserves_contra",
]
OF_HOUSE = ["acquirer_receivable", "bank_clearing", *OF_NO_BUSINESS[:3], "taxes_payable", *OF_NO_BUSINESS[3:]]
HOUSE_ENTRIES = (
    "suspense_in",
    "suspense_out",
    "late_charge_in",
    "late_charge_out",
    "chargeback_in",
    "chargeback_out",
    "statement_opened",
    "statement_matched",
    "journal_house",
    "reserves_mirrored",
)


class Migration(migrations.Migration):
    """Add the house accounts of reserves, which mirror those of businesses."""

    dependencies = [
        ("ledger", "0016_validate_journals"),
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
                    ("reserves", "Reserves"),
                    ("reserves_contra", "Reserves Contra"),
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
                    ("journal", "Journal"),
                    ("suspense_in", "Suspense In"),
                    ("suspense_out", "Suspense Out"),
                    ("late_charge_in", "Late Charge In"),
                    ("late_charge_out", "Late Charge Out"),
                    ("chargeback_in", "Chargeback In"),
                    ("chargeback_out", "Chargeback Out"),
                    ("statement_opened", "Statement Opened"),
                    ("statement_matched", "Statement Matched"),
                    ("journal_house", "Journal House"),
                    ("reserves_mirrored", "Reserves Mirrored"),
                ],
            ),
        ),
        migrations.RemoveConstraint("account", "house_accounts_have_no_business"),
        AddConstraintNotValid(
            "account",
            models.CheckConstraint(
                condition=Q(business__isnull=True, kind__in=OF_HOUSE)
                | Q(business__isnull=False) & ~Q(kind__in=OF_NO_BUSINESS),
                name="house_accounts_have_no_business",
            ),
        ),
        migrations.RemoveConstraint("entry", "house_entries_have_no_business"),
        AddConstraintNotValid(
            "entry",
            models.CheckConstraint(
                condition=Q(business__isnull=True, kind__in=HOUSE_ENTRIES)
                | Q(business__isnull=False) & ~Q(kind__in=HOUSE_ENTRIES),
                name="house_entries_have_no_business",
            ),
        ),
    ]
