from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0053_purpose_of_payouts")]

    operations = [ValidateConstraint("transaction", "only_payouts_have_a_purpose")]
