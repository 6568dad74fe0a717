from django.db import migrations

from kit.db.migration_operations import RunPostgreSQL


class Migration(migrations.Migration):
    """Index the sessions of payments by bank transfer only. Other transactions have none, and wrote a null twice.

    PostgreSQL only. The model's OneToOneField stays as it is: its constraint is replaced by a partial unique index.
    """

    atomic = False

    dependencies = [("payments", "0008_drop_hot_foreign_keys")]

    operations = [
        RunPostgreSQL(
            sql=[
                # An interrupted concurrent build leaves an invalid index of this name.
                "DROP INDEX CONCURRENTLY IF EXISTS one_payment_per_session",
                (
                    "CREATE UNIQUE INDEX CONCURRENTLY one_payment_per_session ON payments_transaction (session_id) "
                    "WHERE session_id IS NOT NULL"
                ),
                "ALTER TABLE payments_transaction DROP CONSTRAINT IF EXISTS payments_transaction_session_id_key",
            ],
            reverse_sql=[
                (
                    "CREATE UNIQUE INDEX CONCURRENTLY payments_transaction_session_id_key "
                    "ON payments_transaction (session_id)"
                ),
                (
                    "ALTER TABLE payments_transaction ADD CONSTRAINT payments_transaction_session_id_key "
                    "UNIQUE USING INDEX payments_transaction_session_id_key"
                ),
                "DROP INDEX CONCURRENTLY one_payment_per_session",
            ],
        )
    ]
