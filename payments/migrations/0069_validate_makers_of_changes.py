from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0068_first_account_in_the_sandbox")]

    operations = [
        ValidateConstraint("settlementaccountchange", "waiting_changes_of_accounts_have_makers"),
        ValidateConstraint("settlementaccountchange", "a_second_owner_confirms_settlement_accounts"),
    ]
