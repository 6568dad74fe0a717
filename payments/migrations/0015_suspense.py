from django.db import migrations, models

import kit.db.card_number_fields
from kit.db.migration_operations import AddConstraintNotValid, RunPostgreSQL

TABLE = "payments_payoutreturn"
TRIGGER = f"{TABLE}_no_update"


class Migration(migrations.Migration):
    """Let unmatched payout returns be applied later, or written off, and propose decisions about money in suspense."""

    dependencies = [("payments", "0014_accounts_of_connectors")]

    operations = [
        # It kept returns unchanged. Its successors are created after `migrate`.
        RunPostgreSQL(
            [f"DROP TRIGGER IF EXISTS {TRIGGER} ON {TABLE}", f"DROP FUNCTION IF EXISTS {TRIGGER}()"],
            RunPostgreSQL.noop,
            elidable=True,
        ),
        migrations.AddField(
            "payoutreturn",
            "resolution",
            kit.db.card_number_fields.FreeTextField(blank=True, db_default="", default="", max_length=255),
        ),
        migrations.AddField(
            "payoutreturn",
            "resolved_by",
            models.CharField(blank=True, db_default="", default="", max_length=254),
        ),
        migrations.AddField("payoutreturn", "resolved_at", models.DateTimeField(blank=True, null=True)),
        AddConstraintNotValid(
            "payoutreturn",
            models.CheckConstraint(
                condition=models.Q(resolved_at__isnull=True, resolution="", resolved_by="")
                | models.Q(resolved_at__isnull=False) & ~models.Q(resolution="") & ~models.Q(resolved_by=""),
                name="return_resolutions_have_reason_and_actor",
            ),
        ),
        migrations.AlterField(
            "payoutreturn",
            "why",
            models.CharField(
                blank=True,
                max_length=14,
                choices=[
                    ("", "applied"),
                    ("unknown_payout", "Unknown Payout"),
                    ("refund", "Refund"),
                    ("ambiguous", "Ambiguous"),
                    ("other_currency", "Other Currency"),
                    ("too_much", "Too Much"),
                    ("partial", "Partial"),
                    ("partial_return", "Partial Return"),
                    ("already_failed", "Already Failed"),
                ],
            ),
        ),
        migrations.AlterField(
            "proposal",
            "action",
            models.CharField(
                max_length=20,
                choices=[
                    ("top_up", "Top up a wallet"),
                    ("approve_batch", "Approve a settlement batch"),
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
                    ("change_user", "Change the rights of a user"),
                    ("change_group", "Change a group of staff"),
                    ("agree_fee", "Agree a fee"),
                    ("choose_connectors", "Choose the connectors of a business"),
                ],
            ),
        ),
    ]
