from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0003_validate_business_settings"),
    ]

    operations = [
        migrations.AddField(
            model_name="apirequest",
            name="object_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="apirequest",
            name="object_kind",
            field=models.CharField(
                blank=True,
                choices=[
                    ("payment", "Payment"),
                    ("payout", "Payout"),
                    ("card_check", "Card Check"),
                    ("refund", "Refund"),
                    ("virtual_account", "Virtual Account"),
                    ("unapplied_transfer", "Unapplied Transfer"),
                    ("settlement", "Settlement"),
                    ("event", "Event"),
                ],
                db_default="",
                default="",
                max_length=18,
            ),
        ),
        migrations.AddField(
            model_name="apirequest",
            name="reference",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The object's reference; card numbers are masked.",
                max_length=100,
            ),
        ),
    ]
