from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the taxes on the fees of a batch."""

    dependencies = [
        ("payout_batches", "0001_initial"),
    ]

    operations = [
        migrations.AddField("payoutbatch", "taxes", models.BigIntegerField(db_default=0, default=0)),
    ]
