from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    """Indexes for the tabs of the lists of virtual accounts and unapplied transfers."""

    atomic = False

    dependencies = [
        ("virtual_accounts", "0001_initial"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="virtualaccount",
            index=models.Index(fields=["business", "status", "-id"], name="accounts_by_status"),
        ),
        AddIndexConcurrently(
            model_name="unappliedmoney",
            index=models.Index(fields=["business", "state", "-id"], name="unapplied_by_state"),
        ),
    ]
