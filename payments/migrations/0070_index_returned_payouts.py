from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    """Index the payouts that came back, without blocking writes."""

    atomic = False

    dependencies = [("payments", "0069_validate_makers_of_changes")]

    operations = [
        AddIndexConcurrently(
            "transaction",
            models.Index(
                fields=["business", "-id"],
                condition=Q(amount_returned__gt=0),
                name="transactions_returned",
            ),
        ),
    ]
