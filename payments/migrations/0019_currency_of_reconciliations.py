from django.db import migrations, models


class Migration(migrations.Migration):
    """Store the currency that a reconciliation was narrowed to."""

    dependencies = [("payments", "0018_account_declarations")]

    operations = [
        migrations.AddField(
            "reconciliation",
            "currency",
            models.CharField(max_length=3, blank=True, default="", db_default=""),
        ),
    ]
