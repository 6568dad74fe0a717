from typing import Any

from django.db import migrations, models
from django.db.models import F


def count_from_the_event(apps: Any, _schema_editor: Any) -> None:
    apps.get_model("webhooks", "Delivery").objects.filter(state="held").update(held_at=F("created_at"))


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="tls_ms",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="delivery",
            name="held_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.RunPython(count_from_the_event, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "held"), _negated=True), ("held_at__isnull", False), _connector="OR"
                ),
                name="held_deliveries_have_held_at",
            ),
        ),
    ]
