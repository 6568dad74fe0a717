from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0003_count_past_hours")]

    operations = [
        AddIndexConcurrently("settlementbatch", models.Index(fields=["day", "id"], name="batches_by_day")),
        AddIndexConcurrently(
            "settlementbatch",
            models.Index(fields=["state", "day", "id"], name="batches_by_state_and_day"),
        ),
    ]
