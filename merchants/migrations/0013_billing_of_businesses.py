from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0012_keys_change_webhooks"),
    ]

    operations = [
        migrations.AddField(
            model_name="business",
            name="billing_address",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="On its invoices.", max_length=500
            ),
        ),
        migrations.AddField(
            model_name="business",
            name="tax_id",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The tax number of the business, on its invoices.",
                max_length=40,
                verbose_name="tax ID",
            ),
        ),
    ]
