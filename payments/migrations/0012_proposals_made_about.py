from django.db import migrations, models


class Migration(migrations.Migration):
    """Store what a proposal was made about, and who could confirm it. Open proposals from before must be made again."""

    dependencies = [("payments", "0011_batch_update_indexes")]

    operations = [
        migrations.AddField("proposal", "confirmers", models.JSONField(null=True)),
        migrations.AddField("proposal", "made_about", models.JSONField(null=True)),
    ]
