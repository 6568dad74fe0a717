from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0015_journals"),
    ]

    operations = [
        ValidateConstraint("entry", "house_entries_have_no_business"),
    ]
