from typing import Any

from django.db import migrations

TABLE = "virtual_accounts_unappliedmoney"
TRIGGER = f"{TABLE}_state_is_final"


def drop_trigger(_apps: Any, schema_editor: Any) -> None:
    """Drop the trigger that kept `returned` final. Its successor is created after `migrate`."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {TRIGGER} ON {TABLE}")
        schema_editor.execute(f"DROP FUNCTION IF EXISTS {TRIGGER}()")
    else:
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {TRIGGER}")


class Migration(migrations.Migration):
    """Let returned unapplied money become open again if the bank refuses its return."""

    dependencies = [
        ("virtual_accounts", "0002_lists_by_status"),
    ]

    operations = [migrations.RunPython(drop_trigger, migrations.RunPython.noop)]
