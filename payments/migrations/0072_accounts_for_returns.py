from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0071_trigger_checks"),
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
                    ("give_account", "Give the payer's account for a refund"),
                    ("give_return_account", "Give the sender's account for a return"),
                    ("assign_unclaimed", "Assign an unclaimed transfer"),
                    ("write_off_unclaimed", "Write off an unclaimed transfer"),
                    ("match_return", "Match a payout return"),
                    ("write_off_return", "Write off a payout return"),
                    ("assign_dispute", "Assign a dispute to its payment"),
                    ("credit_dispute", "Credit the money of a lost dispute"),
                    ("dismiss_dispute", "Dismiss an unmatched dispute"),
                    ("record_dispute_debit", "Record the debit of a dispute"),
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
                    ("close_business", "Close a business"),
                    ("reopen_business", "Reopen a business"),
                    ("declare_account", "Declare two accounts to be the same"),
                ],
                max_length=20,
            ),
        ),
    ]
