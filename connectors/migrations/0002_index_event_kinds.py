from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("connectors", "0001_provider_events"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="providerevent",
            index=models.Index(fields=["kind", "-id"], name="provider_events_by_kind"),
        ),
    ]
