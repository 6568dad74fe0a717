from django.db import migrations, models

from kit.db.migration_operations import (
    AddIndexConcurrently,
    AddUniqueConstraintConcurrently,
    ValidateConstraint,
)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("cash", "0003_accounts_at_acquirers"),
    ]

    operations = [
        AddUniqueConstraintConcurrently(
            "bankaccount",
            models.UniqueConstraint(
                fields=["connector_account", "currency"],
                condition=~models.Q(kind="bank"),
                name="one_account_per_connector_account",
            ),
        ),
        ValidateConstraint("bankaccount", "only_accounts_at_connectors_name_them"),
        AddIndexConcurrently(
            "statementline",
            models.Index(fields=["statement"], condition=models.Q(kind="paid_out"), name="lines_paid_out"),
        ),
    ]
