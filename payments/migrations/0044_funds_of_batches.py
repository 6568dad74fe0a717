from django.db import migrations, models
from django.db.models import F, Q

from kit.db.migration_operations import AddConstraintNotValid, RunPostgreSQL


class Migration(migrations.Migration):
    """Add what hadn't arrived of a batch's money when it was approved, and who approved it all the same."""

    dependencies = [
        ("merchants", "0012_keys_change_webhooks"),
        ("payments", "0043_match_breaks"),
    ]

    operations = [
        migrations.AddField(
            model_name="settlementbatch",
            name="funds_required",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="settlementbatch",
            name="unfunded",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="settlementbatch",
            name="unfunded_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=254),
        ),
        migrations.AddField(
            model_name="settlementbatch",
            name="unfunded_confirmed_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=254),
        ),
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
                    ("change_user", "Change the rights of a user"),
                    ("change_group", "Change a group of staff"),
                    ("agree_fee", "Agree a fee"),
                    ("choose_connectors", "Choose the connectors of a business"),
                    ("match_breaks", "Match breaks between a bank and the ledger"),
                    ("change_bank_account", "Change a bank account of ours"),
                    ("agree_risk_terms", "Agree risk terms"),
                    ("lift_freeze", "Lift the freeze of payouts"),
                    ("declare_account", "Declare two accounts to be the same"),
                ],
                max_length=20,
            ),
        ),
        AddConstraintNotValid(
            "settlementbatch",
            models.CheckConstraint(
                condition=Q(unfunded=0, unfunded_by="", unfunded_confirmed_by="")
                | Q(funds_required=True, unfunded__gt=0)
                & ~Q(unfunded_by="")
                & ~Q(unfunded_confirmed_by="")
                & (~Q(unfunded_by=F("unfunded_confirmed_by")) | Q(unfunded_by="sandbox")),
                name="unfunded_batches_have_two_names",
            ),
        ),
        # The one that lets items move to the rest of their batch is created after `migrate`.
        RunPostgreSQL(
            "DROP TRIGGER IF EXISTS payments_settlementitem_keeps_its_columns ON payments_settlementitem",
            RunPostgreSQL.noop,
            elidable=True,
        ),
    ]
