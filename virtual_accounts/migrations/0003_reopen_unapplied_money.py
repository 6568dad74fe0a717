from django.db import migrations

from kit.db.migration_operations import RunPostgreSQL

TABLE = "virtual_accounts_unappliedmoney"
TRIGGER = f"{TABLE}_state_is_final"


class Migration(migrations.Migration):
    """Let returned unapplied money become open again if the bank refuses its return."""

    dependencies = [
        ("virtual_accounts", "0002_lists_by_status"),
    ]

    operations = [
        # It kept `returned` final. Its successor is created after `migrate`.
        RunPostgreSQL(
            [f"DROP TRIGGER IF EXISTS {TRIGGER} ON {TABLE}", f"DROP FUNCTION IF EXISTS {TRIGGER}()"],
            RunPostgreSQL.noop,
            elidable=True,
        )
    ]
