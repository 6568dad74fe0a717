from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("disputes", "0003_queries_about_cases")]

    operations = [
        AddIndexConcurrently(
            model_name="dispute",
            index=models.Index(
                fields=["business", "-id"],
                condition=models.Q(("status__in", ["needs_response", "under_review"])),
                name="open_disputes_newest_first",
            ),
        ),
    ]
