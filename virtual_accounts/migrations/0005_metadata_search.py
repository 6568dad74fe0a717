from django.db import migrations

from kit.db.migration_operations import AddPostgreSQLIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("virtual_accounts", "0004_bank_notifications"),
    ]

    operations = [
        # The dashboard's search for metadata.
        AddPostgreSQLIndexConcurrently(
            name="accounts_by_metadata",
            table="virtual_accounts_virtualaccount",
            definition="USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL",
        ),
    ]
