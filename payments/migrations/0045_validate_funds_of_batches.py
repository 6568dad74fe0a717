from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0044_funds_of_batches")]

    operations = [ValidateConstraint("settlementbatch", "unfunded_batches_have_two_names")]
