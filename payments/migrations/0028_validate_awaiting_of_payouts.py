from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    """Check the rows that are older than the constraint."""

    dependencies = [("payments", "0027_payout_controls")]

    operations = [ValidateConstraint("transaction", "pending_transactions_await_something")]
