from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("ledger", "0017_mirror_reserves"),
    ]

    operations = [
        ValidateConstraint("account", "house_accounts_have_no_business"),
        ValidateConstraint("entry", "house_entries_have_no_business"),
    ]
