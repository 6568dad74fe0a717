from django.db import migrations, models


class Migration(migrations.Migration):
    """Keep when the URL of an endpoint was changed."""

    dependencies = [("webhooks", "0016_balance_events")]

    operations = [
        migrations.AddField("endpoint", "url_changed_at", models.DateTimeField(blank=True, null=True))
    ]
