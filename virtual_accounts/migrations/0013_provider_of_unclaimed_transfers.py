from django.db import migrations, models

from kit.db.migration_operations import RunPostgreSQL

TABLE = "virtual_accounts_unclaimedtransfer"
TRIGGER = f"{TABLE}_keeps_its_columns"


class Migration(migrations.Migration):
    dependencies = [
        ("virtual_accounts", "0012_session_of_a_provider"),
    ]

    operations = [
        migrations.AddField(
            model_name="unclaimedtransfer",
            name="provider_account",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
        # It doesn't keep the new column. Its successor is created after `migrate`.
        RunPostgreSQL(
            [f"DROP TRIGGER IF EXISTS {TRIGGER} ON {TABLE}"],
            RunPostgreSQL.noop,
            elidable=True,
        ),
    ]
