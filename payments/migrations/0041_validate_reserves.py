from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0040_reserves")]

    operations = [ValidateConstraint("settlementbatch", "released_batches_are_reserved")]
