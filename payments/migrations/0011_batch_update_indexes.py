import django.db.models.deletion
from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently, RunPostgreSQL


class Migration(migrations.Migration):
    """Index a batch's items in order. The index replaces the foreign key's, which it covers.

    `AlterField` would also drop the foreign key and check all rows to add it again. On SQLite, the old index stays.
    """

    atomic = False

    dependencies = [("payments", "0010_batch_updates")]

    operations = [
        AddIndexConcurrently(
            "settlementbatch",
            models.Index(
                condition=models.Q(("updated_through__isnull", False)),
                fields=["id"],
                name="batches_being_updated",
            ),
        ),
        AddIndexConcurrently("settlementitem", models.Index(fields=["batch", "id"], name="items_of_a_batch")),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                RunPostgreSQL(
                    sql="DROP INDEX CONCURRENTLY IF EXISTS payments_settlementitem_batch_id_c3c88a65",
                    reverse_sql=(
                        "CREATE INDEX CONCURRENTLY payments_settlementitem_batch_id_c3c88a65 "
                        "ON payments_settlementitem (batch_id)"
                    ),
                    elidable=True,
                )
            ],
            state_operations=[
                migrations.AlterField(
                    "settlementitem",
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="items",
                        to="payments.settlementbatch",
                    ),
                )
            ],
        ),
    ]
