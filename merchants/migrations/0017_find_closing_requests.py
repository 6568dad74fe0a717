from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("merchants", "0016_closing_requests"),
    ]

    operations = [
        AddIndexConcurrently(
            "business",
            models.Index(
                fields=["closing_requested_at"],
                condition=models.Q(closing_requested_at__isnull=False),
                name="businesses_to_close",
            ),
        ),
    ]
