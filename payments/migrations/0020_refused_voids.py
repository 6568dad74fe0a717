from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("payments", "0019_query_leases"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="cardoperation",
            index=models.Index(
                condition=models.Q(("kind", "void"), ("status", "failed")),
                fields=["finished_at"],
                name="operations_voids_refused",
            ),
        ),
    ]
