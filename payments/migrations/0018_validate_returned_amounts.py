from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0017_copy_reversals"),
    ]

    operations = [
        ValidateConstraint(model_name="transaction", name="returned_within_successful_payouts"),
    ]
