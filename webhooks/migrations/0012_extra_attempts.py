from django.db import migrations, models


class Migration(migrations.Migration):
    """Keep when the next automatic attempt is planned while an extra one is made."""

    dependencies = [("webhooks", "0011_disputes")]

    operations = [migrations.AddField("delivery", "planned_at", models.DateTimeField(null=True))]
