from django.db import migrations, models


class Migration(migrations.Migration):
    """Store when a refund by bank transfer was covered."""

    dependencies = [("payments", "0016_book_suspense")]

    operations = [
        migrations.AddField("cardoperation", "wallet_sequence", models.BigIntegerField(null=True)),
        migrations.AddField("cardoperation", "pending_sequence", models.BigIntegerField(null=True)),
    ]
