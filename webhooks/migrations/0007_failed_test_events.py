from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0006_opt_in_events"),
    ]

    operations = [
        # Earlier releases ended test events as `dead`, and have no other state for them.
        migrations.RunSQL(
            "UPDATE webhooks_delivery SET state = 'failed' WHERE subject IS NULL AND state = 'dead'",
            "UPDATE webhooks_delivery SET state = 'dead' WHERE state = 'failed'",
        ),
    ]
