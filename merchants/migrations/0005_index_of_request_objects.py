from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("merchants", "0004_objects_of_requests"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="apirequest",
            index=models.Index(
                condition=models.Q(("object_id__isnull", False)),
                fields=["object_id", "id"],
                name="requests_of_object",
            ),
        ),
    ]
