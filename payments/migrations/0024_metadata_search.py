from django.db import migrations

from kit.db.migration_operations import AddPostgreSQLIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("payments", "0023_returned_refunds"),
    ]

    operations = [
        # The dashboard's search for metadata.
        AddPostgreSQLIndexConcurrently(
            name="transactions_by_metadata",
            table="payments_transaction",
            definition="USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL",
        ),
    ]
