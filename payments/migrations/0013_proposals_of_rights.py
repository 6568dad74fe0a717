import django.db.models.deletion
from django.db import migrations, models

from kit.db.migration_operations import AllowNull


class Migration(migrations.Migration):
    """Let proposals change rights, fees and connectors, which have no amount and may belong to no business."""

    dependencies = [("payments", "0012_proposals_made_about")]

    operations = [
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
                    ("change_user", "Change the rights of a user"),
                    ("change_group", "Change a group of staff"),
                    ("agree_fee", "Agree a fee"),
                    ("choose_connectors", "Choose the connectors of a business"),
                ],
            ),
        ),
        AllowNull(
            "proposal",
            "business",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="merchants.business",
            ),
        ),
        migrations.AlterField("proposal", "currency", models.CharField(blank=True, max_length=3)),
    ]
