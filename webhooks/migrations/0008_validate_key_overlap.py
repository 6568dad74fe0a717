from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0007_key_overlap"),
    ]

    operations = [
        ValidateConstraint("endpoint", name="previous_key_has_an_end"),
    ]
