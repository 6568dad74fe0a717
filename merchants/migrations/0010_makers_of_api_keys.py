"""Store who made each key, as the audit trail has it."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def name_makers(apps: Any, _schema_editor: Any) -> None:
    keys = apps.get_model("merchants", "ApiKey").objects.filter(made_by=None)
    entries = apps.get_model("merchants", "AuditEntry").objects.filter(action="api_key.created")
    users = apps.get_model("merchants", "User").objects
    # Without the secrets, which need the keys of this installation.
    for key_id, public_id, business_id in keys.values_list("pk", "public_id", "business").iterator():
        entry = entries.filter(target=public_id, business=business_id).first()
        maker = users.filter(email__iexact=entry.actor).first() if entry else None
        if maker is not None:
            keys.filter(pk=key_id).update(made_by=maker)


class Migration(migrations.Migration):
    dependencies = [("merchants", "0009_provider_may_decide_three_ds")]

    operations = [
        migrations.AddField(
            "apikey",
            "made_by",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(name_makers, migrations.RunPython.noop, elidable=True),
    ]
