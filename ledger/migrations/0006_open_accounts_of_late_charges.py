"""Open the new house accounts in each currency that has house accounts, because the house has all kinds or none."""

from typing import Any

from django.db import migrations

from kit.db.migration_operations import ValidateConstraint

NEW_KINDS = ("acquirer_receivable", "late_charges")


def open_accounts(apps: Any, _schema_editor: Any) -> None:
    accounts = apps.get_model("ledger", "Account").objects
    currencies = accounts.filter(business=None).order_by().values_list("currency", flat=True).distinct()
    accounts.bulk_create(
        (accounts.model(currency=currency, kind=kind) for currency in currencies for kind in NEW_KINDS),
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("ledger", "0005_late_charges"),
    ]

    operations = [
        ValidateConstraint("account", "house_accounts_have_no_business"),
        ValidateConstraint("entry", "house_entries_have_no_business"),
        migrations.RunPython(open_accounts, migrations.RunPython.noop, elidable=True),
    ]
