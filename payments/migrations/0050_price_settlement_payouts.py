from django.db import migrations, models

from kit.db.migration_operations import AddConstraintNotValid

FLOWS = ["card", "virtual_account", "payout", "card_check", "settlement"]


class Migration(migrations.Migration):
    """Let staff agree fees of settlement payouts."""

    dependencies = [("payments", "0049_settlement_accounts")]

    operations = [
        migrations.RemoveConstraint("tariff", "known_flow"),
        migrations.AlterField(
            model_name="tariff",
            name="flow",
            field=models.CharField(choices=[(flow, flow) for flow in FLOWS], max_length=16),
        ),
        AddConstraintNotValid(
            "tariff", models.CheckConstraint(condition=models.Q(flow__in=FLOWS), name="known_flow")
        ),
    ]
