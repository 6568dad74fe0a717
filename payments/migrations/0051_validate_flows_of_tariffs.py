from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0050_price_settlement_payouts")]

    operations = [ValidateConstraint("tariff", "known_flow")]
