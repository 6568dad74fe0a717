from django.db import migrations


class Migration(migrations.Migration):
    """List the payments whose automatic capture was refused."""

    dependencies = [
        ("connectors", "0002_index_event_kinds"),
        ("payments", "0035_index_disputes"),
    ]

    operations = [
        migrations.CreateModel(
            name="RefusedCapture",
            fields=[],
            options={
                "verbose_name": "capture refused by the acquirer",
                "verbose_name_plural": "captures refused by the acquirer",
                "proxy": True,
                "indexes": [],
                "constraints": [],
            },
            bases=("payments.transaction",),
        ),
    ]
