from typing import Any

from django.db import migrations
from django.db.models import F


def copy_reversals(apps: Any, _schema_editor: Any) -> None:
    """Copy the first release's reversals. Their ledger entries have the payout's id for a cause."""
    reversal = apps.get_model("payments", "Reversal")
    transaction = apps.get_model("payments", "Transaction")
    payout_return = apps.get_model("payments", "PayoutReturn")
    for old in reversal.objects.select_related("transaction").iterator():
        payout_return.objects.get_or_create(
            id=old.transaction_id,
            defaults={
                "transaction_id": old.transaction_id,
                "amount": old.transaction.amount,
                "currency": old.transaction.currency,
                "reason": old.reason,
                "applied": "reversed",
                "actor": old.actor,
                "at": old.at,
            },
        )
        transaction.objects.filter(pk=old.transaction_id).update(amount_returned=F("amount"))


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0016_payout_returns"),
    ]

    operations = [
        migrations.RunPython(copy_reversals, migrations.RunPython.noop),
    ]
