from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0022_validate_refunds_of_transfers"),
    ]

    operations = [
        migrations.AlterField(
            model_name="payoutreturn",
            name="why",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "applied"),
                    ("unknown_payout", "Unknown Payout"),
                    ("refund", "Refund"),
                    ("other_currency", "Other Currency"),
                    ("too_much", "Too Much"),
                    ("partial", "Partial"),
                    ("already_failed", "Already Failed"),
                ],
                max_length=14,
            ),
        ),
    ]
