from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid

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
)


class Migration(migrations.Migration):
    """Add the entries of journals, of a business and of the house."""

    dependencies = [
        ("ledger", "0014_open_accounts_of_taxes"),
    ]

    operations = [
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
                ],
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
