from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    """Check older rows."""

    dependencies = [("virtual_accounts", "0007_accepted_transfers")]

    operations = [ValidateConstraint("unappliedmoney", "only_credited_money_is_accepted")]
