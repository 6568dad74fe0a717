"""Open the new accounts where there are others: a business, and the house, has all kinds in a currency or none."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db import migrations

from kit.db.migration_operations import ValidateConstraint

TOGETHER = 1_000  # accounts in one statement


def open_accounts(apps: Any, _schema_editor: Any) -> None:
    accounts = apps.get_model("ledger", "Account").objects
    owners = accounts.order_by().values_list("business", "currency").distinct()
    missing: Iterator[Any] = (
        accounts.model(
            business_id=business,
            currency=currency,
            kind="chargeback_clearing" if business is None else "disputes_held",
        )
        for business, currency in list(owners)
    )
    while chunk := list(islice(missing, TOGETHER)):
        accounts.bulk_create(chunk, ignore_conflicts=True)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("ledger", "0007_disputes"),
    ]

    operations = [
        ValidateConstraint("account", "house_accounts_have_no_business"),
        ValidateConstraint("entry", "house_entries_have_no_business"),
        migrations.RunPython(open_accounts, migrations.RunPython.noop, elidable=True),
    ]
