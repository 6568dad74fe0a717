from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently, RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("cash", "0005_end_breaks_by_journals"),
    ]

    operations = [
        AddIndexConcurrently(
            "break",
            models.Index(
                fields=["account", "since", "id"],
                condition=models.Q(ended_at=None),
                name="oldest_open_breaks",
            ),
        ),
        RemoveIndexConcurrently("break", "open_breaks"),
    ]
