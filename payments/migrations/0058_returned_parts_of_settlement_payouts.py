from django.db import migrations, models


class Migration(migrations.Migration):
    """Remember which parts of a returned settlement payout were followed up."""

    dependencies = [
        ("payments", "0057_journals"),
    ]

    operations = [
        migrations.AddField(
            "settlementpayout",
            "amount_returned",
            models.PositiveBigIntegerField(db_default=0, default=0),
        ),
    ]
