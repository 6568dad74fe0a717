from django.db import migrations, models
from django.db.models import F, Q, Value
from django.db.models.functions import Least

from kit.db.migration_operations import AddIndexConcurrently, RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("webhooks", "0004_retention"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                F("business"),
                Least(
                    F("attempts_made") + F("manual_attempts"), Value(1), output_field=models.IntegerField()
                ),
                F("next_attempt_at"),
                condition=Q(state="waiting"),
                name="deliveries_due_by_tries",
            ),
        ),
        # The release before uses it for speed alone.
        RemoveIndexConcurrently(model_name="delivery", name="deliveries_due_by_business"),
    ]
