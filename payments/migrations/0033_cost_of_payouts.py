from django.db import migrations, models


class Migration(migrations.Migration):
    """Store what a provider charges us for a payout."""

    dependencies = [("payments", "0032_reserved_references")]

    operations = [
        migrations.AddField("transaction", "rail_cost", models.BigIntegerField(null=True, blank=True)),
    ]
