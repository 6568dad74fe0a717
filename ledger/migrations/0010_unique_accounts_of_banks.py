from django.db import migrations, models

from kit.db.migration_operations import AddUniqueConstraintConcurrently, ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("ledger", "0009_accounts_of_banks"),
    ]

    operations = [
        AddUniqueConstraintConcurrently(
            "account",
            models.UniqueConstraint(
                fields=["currency", "kind", "name"],
                condition=models.Q(business__isnull=True),
                name="one_house_account_per_currency_kind_and_name",
            ),
        ),
        migrations.RemoveConstraint("account", "one_house_account_per_currency_and_kind"),
        ValidateConstraint("account", "house_accounts_have_no_business"),
        ValidateConstraint("account", "accounts_of_several_have_names"),
        ValidateConstraint("entry", "house_entries_have_no_business"),
    ]
